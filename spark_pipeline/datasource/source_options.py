"""The options of the source: those of Spark's own Kafka source, with the same defaults.

What differs: records of open and aborted transactions are not read (`kafka.isolation.level` is
`read_committed` unless told), and a slip in the name of an option is an error.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kafkalike.client.config import ConfigError, make_config
from kafkalike.client.consumer.consumer_config import ConsumerConfig
from spark_pipeline.datasource.errors import OptionError
from spark_pipeline.datasource.offset_spec import (
    EARLIEST,
    LATEST,
    OffsetSpec,
    parse_global_timestamp,
    parse_offset_spec,
    parse_timestamp_spec,
)
from spark_pipeline.datasource.option_values import (
    check_names,
    kafka_settings,
    lower_keys,
    parse_duration_ms,
    parse_flag,
    parse_number,
    parse_word,
)
from spark_pipeline.datasource.subscription import Subscription, parse_subscription

_STARTING: Final = ("startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets")
_ENDING: Final = ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")
_KNOWN: Final = (
    *_STARTING,
    *_ENDING,
    "subscribe",
    "subscribePattern",
    "assign",
    "startingOffsetsByTimestampStrategy",
    "failOnDataLoss",
    "includeHeaders",
    "minPartitions",
    "maxRecordsPerPartition",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "groupIdPrefix",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
)
_DESERIALIZED: Final = "keys and values are read as bytes; cast them with DataFrame functions"
_REFUSED: Final = {
    "auto.offset.reset": "use startingOffsets",
    "key.deserializer": _DESERIALIZED,
    "value.deserializer": _DESERIALIZED,
    "enable.auto.commit": "Spark keeps the offsets in its checkpoint and commits none",
    "interceptor.classes": "there are no interceptors",
}
_OWN_DEFAULTS: Final = {
    "isolation.level": "read_committed",
    "client.id": "spark-kafkalike",
    "max.partition.fetch.bytes": str(8 << 20),
}
_WITHOUT_MEANING: Final = ("group.id", "max.poll.records", "auto.commit.interval.ms")
_DEFAULT_POLL_TIMEOUT_MS: Final = 120_000
_DEFAULT_TRIGGER_DELAY_MS: Final = 900_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """What to read, from where to where, and in what portions."""

    kafka: ConsumerConfig
    subscription: Subscription
    starting: OffsetSpec
    ending: OffsetSpec
    is_latest_without_match: bool
    fail_on_data_loss: bool
    include_headers: bool
    min_partitions: int | None
    max_records_per_partition: int | None
    max_offsets_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay_ms: int
    poll_timeout_ms: int


def parse_source_options(given: Mapping[str, str], *, is_streaming: bool) -> SourceOptions:
    """Read and check all options of a reader."""
    options = lower_keys(given)
    check_names(options, _KNOWN)
    starting = _offset_spec(options, _STARTING, LATEST if is_streaming else EARLIEST)
    ending = _offset_spec(options, _ENDING, LATEST)
    if is_streaming:
        _check_no_ending(options)
    else:
        _check_batch(starting, ending)
    strategy = "startingOffsetsByTimestampStrategy"
    return SourceOptions(
        kafka=_consumer_config(options),
        subscription=parse_subscription(options),
        starting=starting,
        ending=ending,
        is_latest_without_match=parse_word(options, strategy, "error", ("error", "latest"))
        == "latest",
        fail_on_data_loss=parse_flag(options, "failOnDataLoss", True),
        include_headers=parse_flag(options, "includeHeaders", False),
        min_partitions=parse_number(options, "minPartitions"),
        max_records_per_partition=parse_number(options, "maxRecordsPerPartition"),
        max_offsets_per_trigger=parse_number(options, "maxOffsetsPerTrigger"),
        min_offsets_per_trigger=parse_number(options, "minOffsetsPerTrigger"),
        max_trigger_delay_ms=parse_duration_ms(
            options, "maxTriggerDelay", _DEFAULT_TRIGGER_DELAY_MS
        ),
        poll_timeout_ms=parse_number(options, "kafkaConsumer.pollTimeoutMs")
        or _DEFAULT_POLL_TIMEOUT_MS,
    )


def _offset_spec(
    options: Mapping[str, str], names: tuple[str, str, str], default: int
) -> OffsetSpec:
    """Read the option that counts: one time for all before times before offsets."""
    for name, parse in zip(
        names, (parse_global_timestamp, parse_timestamp_spec, parse_offset_spec), strict=True
    ):
        if name.lower() in options:
            return parse(name, options[name.lower()])
    return OffsetSpec(names[-1], default)


def _check_no_ending(options: Mapping[str, str]) -> None:
    for name in _ENDING:
        if name.lower() in options:
            raise OptionError(f"option {name} is for batch queries: a stream has no end")


def _check_batch(starting: OffsetSpec, ending: OffsetSpec) -> None:
    for spec, wrong, word, side in (
        (starting, LATEST, "latest", "begin"),
        (ending, EARLIEST, "earliest", "end"),
    ):
        if spec.is_timestamp:
            continue
        bad = [tp for tp, offset in spec.offsets.items() if offset == wrong]
        if spec.default == wrong:
            raise OptionError(f"option {spec.option}: a batch query cannot {side} at {word}")
        if bad:
            raise OptionError(
                f"option {spec.option}: a batch query cannot {side} at {word} ({wrong}) in {bad[0]}"
            )


def _consumer_config(options: Mapping[str, str]) -> ConsumerConfig:
    settings = _OWN_DEFAULTS | kafka_settings(options, _REFUSED)
    for name in _WITHOUT_MEANING:
        settings.pop(name, None)
    try:
        return make_config(ConsumerConfig, settings)
    except ConfigError as error:
        raise OptionError(f"options kafka.*: {error}") from None
