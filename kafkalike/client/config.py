"""The settings of clients: kafka-python's argument names with Kafka 2.8's defaults.

Every setting may also be given by Kafka's own name with dots and as text (`linger.ms=5`), as
properties files and command lines have it. What kafka-python has and means nothing here is taken
and ignored; a name that nobody knows is an error that says which one may be meant.
"""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, TypeVar

from kafkalike.client.security_config import SECURITY_WITHOUT_EFFECT, ClientSecurityConfig
from kafkalike.config.listeners import SECURITY_PROTOCOLS

DEFAULT_PORT: Final = 9092

WITHOUT_EFFECT: Final = frozenset(
    {
        "api_version",
        "api_version_auto_timeout_ms",
        "bootstrap_timeout_ms",
        "client_dns_lookup",
        "connections_max_idle_ms",
        "enable_incremental_fetch_sessions",
        "kafka_client",
        "metric_group_prefix",
        "metric_reporters",
        "metrics_enabled",
        "metrics_num_samples",
        "metrics_sample_window_ms",
        "receive_buffer_bytes",
        "receive_message_max_bytes",
        "selector",
        "send_buffer_bytes",
        "sock_chunk_buffer_count",
        "sock_chunk_bytes",
        "socket_options",
        *SECURITY_WITHOUT_EFFECT,
    }
)

_TRUE: Final = {"true": True, "false": False}


class ConfigError(ValueError):
    """A setting that does not exist, or a value that it cannot have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig(ClientSecurityConfig):
    """What every client has: where the cluster is, and how patient to be with it."""

    bootstrap_servers: str | Sequence[str] = "localhost:9092"
    client_id: str | None = "kafkalike"
    request_timeout_ms: int = 30_000
    default_api_timeout_ms: int = 60_000
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1_000
    retry_backoff_ms: int = 100
    metadata_max_age_ms: int = 300_000
    socket_connection_setup_timeout_ms: int = 10_000
    allow_auto_create_topics: bool = True

    def __post_init__(self) -> None:
        if self.security_protocol.upper() not in SECURITY_PROTOCOLS:
            known = ", ".join(SECURITY_PROTOCOLS)
            raise ConfigError(f"security_protocol {self.security_protocol} is none of {known}")

    @property
    def bootstrap_addresses(self) -> list[tuple[str, int]]:
        """The addresses to begin with."""
        return parse_addresses(self.bootstrap_servers)


_Config = TypeVar("_Config", bound=ClientConfig)


def parse_addresses(servers: str | Sequence[str]) -> list[tuple[str, int]]:
    """Read `host:port,host:port` or a list of such."""
    texts = servers.split(",") if isinstance(servers, str) else servers
    found = [_parse_address(text.strip()) for text in texts if text.strip()]
    if not found:
        raise ConfigError("bootstrap_servers is empty: give host:port of at least one broker")
    return found


def _parse_address(text: str) -> tuple[str, int]:
    text = text.rpartition("://")[2]
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, str(DEFAULT_PORT)
    if not port.isdigit() or not 0 < int(port) < 65536:
        raise ConfigError(f"bootstrap_servers: {text!r} has no port between 1 and 65535")
    return host.strip("[]"), int(port)


def make_config(cls: type[_Config], given: Mapping[str, Any]) -> _Config:
    """Build a config from arguments or properties."""
    known = {field.name: field for field in fields(cls)}
    values: dict[str, Any] = {}
    for key, value in given.items():
        name = key.replace(".", "_")
        if name in known:
            values[name] = _typed(name, value, known[name].default)
        elif name not in WITHOUT_EFFECT:
            close = difflib.get_close_matches(name, known, 1)
            hint = f": is {close[0]} meant?" if close else ""
            raise ConfigError(f"{key} is not a setting of {cls.__name__}{hint}")
    return cls(**values)


def _typed(name: str, value: Any, default: Any) -> Any:
    """Turn text into what the default is, for properties have nothing else."""
    if not isinstance(value, str) or isinstance(default, str):
        return value
    try:
        if isinstance(default, bool):
            return _TRUE[value.lower()]
        if isinstance(default, int):
            return int(value)
    except (KeyError, ValueError):
        kind = type(default).__name__
        raise ConfigError(f"{name}: {value!r} is not a {kind}") from None
    return value
