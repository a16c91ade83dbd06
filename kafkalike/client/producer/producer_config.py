"""The settings of a producer, with the defaults of Kafka 2.8 (acks=1, no idempotence)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from kafkalike.client.config import ClientConfig, ConfigError
from kafkalike.protocol.records.compression import CompressionType

_ACKS: Final = {"all": -1, "-1": -1, "0": 0, "1": 1, -1: -1, 0: 0, 1: 1}
_MAX_IDEMPOTENT_IN_FLIGHT: Final = 5
"""How many batches per producer and partition a broker remembers to tell duplicates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig(ClientConfig):
    """See Kafka's producer configs; `acks` is 1, or all if the producer is idempotent."""

    acks: int | str | None = None
    compression_type: str | None = None
    retries: float = 2**31 - 1
    batch_size: int = 16_384
    linger_ms: int = 0
    buffer_memory: int = 33_554_432
    max_block_ms: int = 60_000
    max_request_size: int = 1_048_576
    max_in_flight_requests_per_connection: int = 5
    delivery_timeout_ms: int = 120_000
    enable_idempotence: bool = False
    transactional_id: str | None = None
    transaction_timeout_ms: int = 60_000
    partitioner: Any = None
    partitioner_class: Any = None
    key_serializer: Any = None
    value_serializer: Any = None
    interceptors: Sequence[Any] = ()

    def __post_init__(self) -> None:
        # super() without arguments does not work in a dataclass with slots.
        ClientConfig.__post_init__(self)
        if self.acks is not None and self.acks not in _ACKS:
            raise ConfigError(f"acks is {self.acks!r}: it must be 0, 1 or 'all'")
        if self.compression_type not in (None, "none", "gzip", "snappy", "lz4", "zstd"):
            raise ConfigError(
                f"compression_type is {self.compression_type!r}: it must be one of none, gzip, "
                "snappy, lz4, zstd"
            )
        if self.is_idempotent:
            self._check_idempotence()

    def _check_idempotence(self) -> None:
        if self.required_acks != -1:
            raise ConfigError(f"an idempotent producer needs acks='all', not {self.acks!r}")
        if self.retries <= 0:
            raise ConfigError("an idempotent producer needs retries above 0")
        if self.max_in_flight_requests_per_connection > _MAX_IDEMPOTENT_IN_FLIGHT:
            raise ConfigError(
                "an idempotent producer needs max_in_flight_requests_per_connection of at most "
                f"{_MAX_IDEMPOTENT_IN_FLIGHT}, not {self.max_in_flight_requests_per_connection}"
            )

    @property
    def is_idempotent(self) -> bool:
        """Whether the broker is to drop duplicates; transactions need that."""
        return self.enable_idempotence or self.transactional_id is not None

    @property
    def required_acks(self) -> int:
        """The number that goes over the wire."""
        if self.acks is None:
            return -1 if self.is_idempotent else 1
        return _ACKS[self.acks]

    @property
    def codec(self) -> CompressionType:
        """How batches are compressed."""
        return CompressionType.for_name(self.compression_type or "none")
