"""The work of `kafka-verifiable-consumer`: poll, tell, commit what was told."""

from argparse import Namespace
from collections.abc import Collection
from pathlib import Path
from typing import Any

from kafkalike.cli.tools.client_log import warnings_shown
from kafkalike.cli.tools.support.client import client_arguments, read_settings
from kafkalike.cli.tools.support.java_names import message_of
from kafkalike.cli.tools.verifiable_events import StopRequest, print_event
from kafkalike.client.blocking_consumer import KafkaConsumer
from kafkalike.client.consumer.consumer_config import ConsumerConfig
from kafkalike.client.consumer.consumer_record import ConsumerRecord
from kafkalike.client.consumer.offsets import OffsetAndMetadata
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import FencedInstanceIdError, KafkaError

_POLL_MS = 200


class Run:
    """One run; the listener of its own rebalances."""

    def __init__(self, parsed: Namespace) -> None:
        self._parsed = parsed
        self._read = 0

    def run(self) -> int:
        """Read until there is enough or somebody ends it."""
        stop = StopRequest()
        arguments = client_arguments(ConsumerConfig, self._settings())
        with warnings_shown("Consumer", f"consumer-{self._parsed.group_id}-1"):
            with KafkaConsumer(**arguments) as consumer:
                print_event("startup_complete")
                consumer.subscribe([self._parsed.topic], listener=self)
                while not stop and not self._is_enough():
                    if records := consumer.poll(_POLL_MS):
                        self._take(consumer, records)
            print_event("shutdown_complete")
        return stop.exit_code

    def on_partitions_assigned(self, partitions: set[TopicPartition]) -> None:
        """Tell of new partitions."""
        print_event("partitions_assigned", partitions=_as_json(partitions))

    def on_partitions_revoked(self, partitions: set[TopicPartition]) -> None:
        """Tell of partitions that go."""
        print_event("partitions_revoked", partitions=_as_json(partitions))

    def _settings(self) -> dict[str, Any]:
        parsed = self._parsed
        settings: dict[str, Any] = {}
        if parsed.consumer_config:
            settings |= read_settings(Path(parsed.consumer_config))
        settings |= {
            "bootstrap.servers": parsed.bootstrap_servers,
            "group.id": parsed.group_id,
            "enable.auto.commit": str(parsed.enable_autocommit).lower(),
            "auto.offset.reset": parsed.reset_policy,
            "session.timeout.ms": str(parsed.session_timeout),
            "partition.assignment.strategy": parsed.assignment_strategy,
        }
        if parsed.group_instance_id is not None:
            settings["group.instance.id"] = parsed.group_instance_id
        return settings

    def _is_enough(self) -> bool:
        limit: int = self._parsed.max_messages
        return 0 <= limit <= self._read

    def _take(
        self, consumer: KafkaConsumer, polled: dict[TopicPartition, list[ConsumerRecord]]
    ) -> None:
        offsets: dict[TopicPartition, OffsetAndMetadata] = {}
        summaries = []
        for tp, records in polled.items():
            if self._is_enough():
                break
            if self._parsed.max_messages >= 0:
                records = records[: self._parsed.max_messages - self._read]
            if self._parsed.verbose:
                for record in records:
                    _tell(record)
            self._read += len(records)
            first, last = records[0].offset, records[-1].offset
            offsets[tp] = OffsetAndMetadata(last + 1)
            summaries.append(
                _partition(tp) | {"count": len(records), "minOffset": first, "maxOffset": last}
            )
        total = sum(len(records) for records in polled.values())
        print_event("records_consumed", count=total, partitions=summaries)
        if not self._parsed.enable_autocommit:
            _commit(consumer, offsets)


def _commit(consumer: KafkaConsumer, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
    problem: dict[str, Any] = {}
    try:
        consumer.commit(offsets)
    except FencedInstanceIdError:
        raise
    except KafkaError as error:
        problem = {"error": message_of(error)}
    committed = [_partition(tp) | {"offset": new.offset} for tp, new in offsets.items()]
    print_event("offsets_committed", offsets=committed, **problem, success=not problem)


def _tell(record: ConsumerRecord) -> None:
    print_event(
        "record_data",
        key=_text(record.key),
        value=_text(record.value),
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
    )


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


def _partition(tp: TopicPartition) -> dict[str, Any]:
    return {"topic": tp.topic, "partition": tp.partition}


def _as_json(partitions: Collection[TopicPartition]) -> list[dict[str, Any]]:
    return [_partition(tp) for tp in sorted(partitions)]
