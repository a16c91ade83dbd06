"""`/config/...`: dynamic configs of topics, brokers, clients, users and addresses, and their news.

SCRAM credentials live here too: they are configs of a user named after the mechanism.
"""

from collections.abc import Mapping
from enum import StrEnum

from kafkalike.zk.znodes.json_data import encode_json, reading


class ConfigType(StrEnum):
    """The kinds of entity that have configs, in the order Kafka makes their znodes."""

    TOPIC = "topics"
    CLIENT = "clients"
    USER = "users"
    BROKER = "brokers"
    IP = "ips"


DEFAULT_ENTITY = "<default>"


class ConfigEntityTypeZNode:
    """The parent of all entities of a kind."""

    @staticmethod
    def path(entity_type: str) -> str:
        """Where the entities of this kind are."""
        return f"/config/{entity_type}"


class ConfigEntityZNode:
    """The configs of one entity; the name may be a path: `bob/clients/app%201`."""

    @staticmethod
    def path(entity_type: str, sanitized_name: str) -> str:
        """Where the entity's configs are."""
        return f"{ConfigEntityTypeZNode.path(entity_type)}/{sanitized_name}"

    @staticmethod
    def encode(config: Mapping[str, str]) -> bytes:
        """Write the configs."""
        return encode_json({"version": 1, "config": dict(config)})

    @staticmethod
    def decode(data: bytes | None, path: str = "a config znode") -> dict[str, str]:
        """Read the configs; a znode that is only a parent has none."""
        if not data:
            return {}
        with reading(data, path) as value:
            return {str(key): str(text) for key, text in value.get("config", {}).items()}


class ConfigChangeZNode:
    """`/config/changes/config_change_<n>`: some entity's configs changed (version 2)."""

    ROOT = "/config/changes"
    PREFIX = "config_change_"
    CREATE_PATH = f"{ROOT}/{PREFIX}"

    @staticmethod
    def encode(sanitized_entity_path: str) -> bytes:
        """Write which entity: `topics/orders`, `users/bob/clients/app%201`."""
        return encode_json({"version": 2, "entity_path": sanitized_entity_path})

    @staticmethod
    def decode(data: bytes | None) -> str:
        """Read which entity changed; version 1 named kind and name apart."""
        with reading(data, ConfigChangeZNode.ROOT) as value:
            version = value["version"]
            if version == 1:
                return f"{value['entity_type']}/{value['entity_name']}"
            if version != 2:
                raise ValueError(f"unsupported version {version}")
            return str(value["entity_path"])
