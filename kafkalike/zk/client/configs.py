"""`/config/...`: dynamic configs of entities, and the word that one of them changed."""

from collections.abc import Iterable, Mapping

from kafkalike.zk.client.tree import TreeClient
from kafkalike.zk.errors import NodeExistsError, NoNodeError
from kafkalike.zk.ops import DeleteOp, SetDataOp
from kafkalike.zk.znodes import (
    ConfigChangeZNode,
    ConfigEntityTypeZNode,
    ConfigEntityZNode,
    ConfigType,
)


class ConfigsClient(TreeClient):
    """Configs of topics, brokers, clients, users and addresses; names are sanitized ones."""

    async def get_entity_configs(self, entity_type: str, sanitized_name: str) -> dict[str, str]:
        """Read an entity's configs, none if it has no znode."""
        path = ConfigEntityZNode.path(entity_type, sanitized_name)
        found = await self._get(path)
        return ConfigEntityZNode.decode(found[0], path) if found else {}

    async def get_topic_configs(self, topics: Iterable[str]) -> dict[str, dict[str, str]]:
        """Read the configs of many topics at once."""
        names = list(topics)
        paths = [ConfigEntityZNode.path(ConfigType.TOPIC, topic) for topic in names]
        found = await self._get_all(paths)
        return {
            topic: ConfigEntityZNode.decode(result[0], path) if result else {}
            for topic, path, result in zip(names, paths, found, strict=True)
        }

    async def get_all_entities_with_config(self, entity_type: str) -> list[str]:
        """List the sanitized names of a kind's entities."""
        return await self.get_children(ConfigEntityTypeZNode.path(entity_type))

    async def set_or_create_entity_configs(
        self, entity_type: str, sanitized_name: str, config: Mapping[str, str]
    ) -> None:
        """Replace an entity's configs; the last writer wins."""
        path = ConfigEntityZNode.path(entity_type, sanitized_name)
        data = ConfigEntityZNode.encode(config)
        try:
            await self._write(SetDataOp(path, data))
            return
        except NoNodeError:
            pass
        try:
            await self.create_recursive(path, data)
        except NodeExistsError:
            await self._write(SetDataOp(path, data))

    async def create_config_change_notification(self, sanitized_entity_path: str) -> None:
        """Tell all brokers to read an entity's configs again: `topics/orders`."""
        await self.make_sure_persistent_path_exists(ConfigChangeZNode.ROOT)
        await self.create_sequential_persistent_path(
            ConfigChangeZNode.CREATE_PATH, ConfigChangeZNode.encode(sanitized_entity_path)
        )

    async def delete_topic_configs(
        self, topics: Iterable[str], expected_controller_epoch_zk_version: int
    ) -> None:
        """Delete the configs of topics."""
        ops = [DeleteOp(ConfigEntityZNode.path(ConfigType.TOPIC, topic)) for topic in topics]
        await self._write_all(ops, expected_controller_epoch_zk_version)
