"""Compaction by a running broker: consumers read across it, and a crash does no harm."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafkalike.protocol.records.batch_builder import BatchBuilder
from tests.support import wire
from tests.support.broker import Broker
from tests.support.new_broker import NewBroker, connect_to, wait_until_led
from tests.support.waiting import wait_until

pytestmark = pytest.mark.ensemble

BROKER = 4
KEYS = 20
COMPACTED = {
    "cleanup.policy": "compact",
    "segment.bytes": "5000",
    "min.cleanable.dirty.ratio": "0.01",
}
FAST = {"log.cleaner.backoff.ms": "100"}


def put(client: SimpleClient, topic: str, numbers: range) -> None:
    """Append a batch of ten records for each ten numbers; the key is the number modulo 20."""
    for start in numbers[::10]:
        builder = BatchBuilder()
        for number in range(start, start + 10):
            key, value = b"key %d" % (number % KEYS), b"value %d" % number
            builder.append(wire.now_ms(), key, value)
        answer = wire.produce(client, topic, builder.build(), acks=-1)
        assert answer.error_code == ErrorCode.NONE


def table(client: SimpleClient, topic: str) -> Mapping[bytes | None, bytes | None]:
    """Read the whole topic and return the last value of each key."""
    records = wire.read_all(client, topic)
    offsets = [record.offset for record in records]
    assert offsets == sorted(set(offsets))
    for record in records:
        assert record.value == b"value %d" % record.offset
    return {record.key: record.value for record in records}


def expected(count: int) -> dict[bytes, bytes]:
    return {b"key %d" % (number % KEYS): b"value %d" % number for number in range(count)}


def clean_offset(broker: Broker, topic: str) -> int:
    path = broker.log_dir / "cleaner-offset-checkpoint"
    lines = path.read_text().splitlines() if path.exists() else []
    return next((int(line.split()[2]) for line in lines if line.startswith(topic)), 0)


def partition_dir(broker: Broker, topic: str) -> Path:
    return broker.log_dir / f"{topic}-0"


def is_compacted(client: SimpleClient, topic: str, at_most: int) -> bool:
    return len(wire.read_all(client, topic)) <= at_most


def test_compacted_topic_keeps_the_last_value_of_each_key(new_broker: NewBroker) -> None:
    """Producers and consumers go on meanwhile; offsets stay what they were."""
    broker = new_broker(properties=FAST)
    with connect_to(broker) as client:
        topic = wire.create_topic(client, configs=COMPACTED)
        for start in range(0, 3000, 100):
            put(client, topic, range(start, start + 100))
            assert table(client, topic) == expected(start + 100)
        # The active segment is not compacted: 5000 bytes are some 200 of these records.
        wait_until(lambda: is_compacted(client, topic, 400), 20, "compaction")
        assert table(client, topic) == expected(3000)
        assert wire.list_offset(client, topic, wire.LATEST) == 3000
        assert wire.list_offset(client, topic, wire.EARLIEST) == 0
        wait_until(lambda: clean_offset(broker, topic) > 2000, 10, "checkpoint")
    assert broker.terminate() == 0
    broker.start()
    wait_until_led(broker, topic)
    with connect_to(broker) as client:
        assert table(client, topic) == expected(3000)


def test_policy_delete_is_not_compacted(new_broker: NewBroker) -> None:
    broker = new_broker(properties=FAST)
    with connect_to(broker) as client:
        kept = wire.create_topic(client, configs={**COMPACTED, "cleanup.policy": "delete"})
        topic = wire.create_topic(client, configs=COMPACTED)
        for name in (kept, topic):
            put(client, name, range(1000))
        wait_until(lambda: is_compacted(client, topic, 400), 20, "compaction")
        assert len(wire.read_all(client, kept)) == 1000


def test_settings_of_the_cleaner_change_while_the_broker_runs(new_broker: NewBroker) -> None:
    """With a pause of ten minutes nothing would happen; a shorter one holds at once."""
    broker = new_broker(properties={"log.cleaner.backoff.ms": "600000"})
    with connect_to(broker) as client:
        topic = wire.create_topic(client, configs=COMPACTED)
        put(client, topic, range(1000))
        assert len(wire.read_all(client, topic)) == 1000
        resource = AlterConfigsResource(
            resource_type=BROKER,
            resource_name="",
            configs=[AlterableConfig(name="log.cleaner.backoff.ms", value="100")],
        )
        (answer,) = client.send(IncrementalAlterConfigsRequest(resources=[resource])).responses
        assert answer.error_code == ErrorCode.NONE
        wait_until(lambda: is_compacted(client, topic, 400), 20, "compaction")


def test_crashes_while_the_cleaner_works_lose_nothing(new_broker: NewBroker) -> None:
    """M1: kill -9 again and again, always with segments that are due to be cleaned."""
    broker = new_broker(properties={"log.cleaner.backoff.ms": "1"})
    with connect_to(broker) as client:
        topic = wire.create_topic(client, configs=COMPACTED)
    count = 0
    for _ in range(6):
        with connect_to(broker) as client:
            before = clean_offset(broker, topic)
            put(client, topic, range(count, count + 500))
            count += 500
            wait_until(
                lambda clean_up_to=before: clean_offset(broker, topic) > clean_up_to,
                20,
                "some compaction",
            )
            put(client, topic, range(count, count + 200))
            count += 200
        broker.kill()
        broker.start()
        wait_until_led(broker, topic)
        with connect_to(broker) as client:
            assert table(client, topic) == expected(count)
            assert wire.list_offset(client, topic, wire.LATEST) == count
    leftovers = {".cleaned", ".swap"}
    wait_until(
        lambda: not [p for p in partition_dir(broker, topic).iterdir() if p.suffix in leftovers],
        10,
        "end of the last cleaning",
    )
