"""The options of the sink: those of Spark's own Kafka sink, and how surely to write."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kafkalike.client.config import ConfigError, make_config
from kafkalike.client.producer.producer_config import ProducerConfig
from spark_pipeline.datasource.errors import OptionError
from spark_pipeline.datasource.option_values import (
    check_names,
    kafka_settings,
    lower_keys,
    parse_number,
    parse_word,
)

EXACTLY_ONCE: Final = "exactly-once"
AT_LEAST_ONCE: Final = "at-least-once"

_KNOWN: Final = ("topic", "delivery", "transactionalIdPrefix", "batchId", "includeHeaders")
_SERIALIZED: Final = "keys and values are written as they are; make them strings or bytes before"
_REFUSED: Final = {
    "key.serializer": _SERIALIZED,
    "value.serializer": _SERIALIZED,
    "transactional.id": "tasks need one each: give transactionalIdPrefix",
}
_OWN_DEFAULTS: Final = {
    "client.id": "spark-kafkalike",
    "acks": "all",
    "enable.idempotence": "true",
    "linger.ms": "10",
    "batch.size": str(256 << 10),
    # A task that dies leaves its transaction to its next attempt, which ends it at once. This is
    # how long readers of committed records wait if there is none.
    "transaction.timeout.ms": "300000",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions:
    """Where to write, and how."""

    kafka: Mapping[str, str]
    topic: str | None
    delivery: str
    transactional_id_prefix: str | None
    batch_id: int | None

    @property
    def is_exactly_once(self) -> bool:
        """Whether tasks write in transactions."""
        return self.delivery == EXACTLY_ONCE

    def producer_settings(self, transactional_id: str | None) -> dict[str, Any]:
        """Return what a producer is made with."""
        settings: dict[str, Any] = dict(self.kafka)
        if transactional_id is not None:
            settings["transactional.id"] = transactional_id
        return settings


def parse_sink_options(given: Mapping[str, str]) -> SinkOptions:
    """Read and check all options of a writer."""
    options = lower_keys(given)
    check_names(options, _KNOWN)
    settings = _OWN_DEFAULTS | kafka_settings(options, _REFUSED)
    if settings["acks"] not in ("all", "-1"):
        settings["enable.idempotence"] = "false"
    found = SinkOptions(
        kafka=settings,
        topic=options.get("topic", "").strip() or None,
        delivery=parse_word(options, "delivery", EXACTLY_ONCE, (EXACTLY_ONCE, AT_LEAST_ONCE)),
        transactional_id_prefix=options.get("transactionalidprefix", "").strip() or None,
        batch_id=parse_number(options, "batchId", 0),
    )
    if found.batch_id is not None and found.transactional_id_prefix is None:
        raise OptionError(
            "option batchId needs transactionalIdPrefix: the batch is known by both together"
        )
    try:
        make_config(ProducerConfig, found.producer_settings("x" if found.is_exactly_once else None))
    except ConfigError as error:
        raise OptionError(f"options kafka.*: {error}") from None
    return found
