"""The settings of a consumer, with the defaults of Kafka 2.8."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kafkalike.client.config import ClientConfig, ConfigError

_RESETS: Final = {
    "earliest": "earliest",
    "smallest": "earliest",
    "latest": "latest",
    "largest": "latest",
    "none": "none",
}
_ISOLATION_LEVELS: Final = {"read_uncommitted": 0, "read_committed": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConfig(ClientConfig):
    """See Kafka's consumer configs."""

    group_id: str | None = None
    group_instance_id: str | None = None
    client_rack: str = ""
    key_deserializer: Any = None
    value_deserializer: Any = None
    fetch_max_wait_ms: int = 500
    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 52_428_800
    max_partition_fetch_bytes: int = 1_048_576
    auto_offset_reset: str = "latest"
    enable_auto_commit: bool = True
    auto_commit_interval_ms: int = 5_000
    default_offset_commit_callback: Callable[..., Any] | None = None
    check_crcs: bool = True
    isolation_level: str = "read_uncommitted"
    partition_assignment_strategy: Any = ("range",)
    max_poll_records: int = 500
    max_poll_interval_ms: int = 300_000
    session_timeout_ms: int = 10_000
    heartbeat_interval_ms: int = 3_000
    consumer_timeout_ms: float = float("inf")
    exclude_internal_topics: bool = True
    leave_group_on_close: bool = True

    def __post_init__(self) -> None:
        # super() without arguments does not work in a dataclass with slots.
        ClientConfig.__post_init__(self)
        if self.auto_offset_reset not in _RESETS:
            raise ConfigError(
                f"auto_offset_reset is {self.auto_offset_reset!r}: it must be earliest, latest "
                "or none"
            )
        if self.isolation_level not in _ISOLATION_LEVELS:
            raise ConfigError(
                f"isolation_level is {self.isolation_level!r}: it must be read_uncommitted or "
                "read_committed"
            )
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise ConfigError(
                f"heartbeat_interval_ms {self.heartbeat_interval_ms} must be below "
                f"session_timeout_ms {self.session_timeout_ms}"
            )

    @property
    def reset_strategy(self) -> str:
        """Where to begin without a committed offset: earliest, latest or none (an error)."""
        return _RESETS[self.auto_offset_reset]

    @property
    def isolation(self) -> int:
        """The isolation level as it goes over the wire."""
        return _ISOLATION_LEVELS[self.isolation_level]

    @property
    def commits_by_itself(self) -> bool:
        """Whether positions are committed now and then; without a group there is nowhere to."""
        return self.enable_auto_commit and self.group_id is not None
