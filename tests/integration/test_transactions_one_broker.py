"""Transactions on one broker: time-outs, expiry, restarts."""

from collections.abc import Iterator

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.error_code import ErrorCode
from tests.support import wire
from tests.support.broker import Broker
from tests.support.new_broker import NewBroker, connect_to, wait_until_led
from tests.support.waiting import wait_until
from tests.support.wire_transactions import (
    READ_COMMITTED,
    TRANSACTION_KEY,
    WireProducer,
    committed_values,
    log_of,
    wait_for_coordinator,
)
from tests.support.znode_client import ZnodeClient

pytestmark = pytest.mark.ensemble

ONE_BROKER = {
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.num.partitions": "2",
    "offsets.topic.replication.factor": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
}


@pytest.fixture
def broker(new_broker: NewBroker) -> Broker:
    return new_broker(properties=ONE_BROKER)


@pytest.fixture
def client(broker: Broker) -> Iterator[SimpleClient]:
    with connect_to(broker) as connection:
        yield connection


@pytest.fixture
def topic(client: SimpleClient) -> str:
    return wire.create_topic(client, "transactional")


def a_producer(client: SimpleClient, timeout_ms: int = 60_000) -> WireProducer:
    producer = WireProducer(client, timeout_ms=timeout_ms)
    producer.init()
    return producer


def test_first_block_of_producer_ids_is_taken_at_the_start(
    broker: Broker, znodes: ZnodeClient
) -> None:
    """As Kafka: the block is in ZooKeeper before the first producer comes."""
    wanted = {"version": 1, "broker": 1, "block_start": "0", "block_end": "999"}
    path = "/latest_producer_id_block"
    wait_until(lambda: znodes.json(path) == wanted, 10, "the first block")


def test_restarted_broker_takes_another_block(broker: Broker, znodes: ZnodeClient) -> None:
    with connect_to(broker) as client:
        first = a_producer(client)
    broker.kill()
    broker.start()
    with connect_to(broker) as client:
        second = WireProducer(client, "another")
        second.init()
    assert (first.id, second.id) == (0, 1000)


def test_transaction_that_takes_too_long_is_aborted(client: SimpleClient, topic: str) -> None:
    producer = a_producer(client, timeout_ms=2_000)
    producer.begin(topic, 0)
    producer.write(topic, b"left open")
    wire.append(client, topic, b"plain")
    end = wire.list_offsets(client, topic, wire.LATEST, isolation_level=READ_COMMITTED)
    assert end.offset == 0
    wait_until(lambda: log_of(client, topic)[-1] == "ABORT", 10, "the marker")
    assert committed_values(client, topic) == ["plain"]
    assert producer.end(is_commit=True) == ErrorCode.PRODUCER_FENCED
    assert producer.write(topic, b"late") == ErrorCode.INVALID_PRODUCER_EPOCH
    producer.init()
    assert producer.epoch == 2
    producer.begin(topic, 0)


def test_unused_transactional_id_is_forgotten(new_broker: NewBroker) -> None:
    quick = {
        **ONE_BROKER,
        "transactional.id.expiration.ms": "1000",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "100",
    }
    broker = new_broker(properties=quick)
    with connect_to(broker) as client:
        topic = wire.create_topic(client, "expiry")
        producer = a_producer(client)
        producer.begin(topic, 0)
        gone = ErrorCode.INVALID_PRODUCER_ID_MAPPING
        open_transaction = wait_until(lambda: producer.add(topic, 0), 5)
        assert open_transaction == [ErrorCode.NONE]
        producer.end(is_commit=True)
        wait_until(lambda: producer.end(is_commit=True) == gone, 20, "expiry")
        former = producer.id
        producer.init()
        assert (producer.id, producer.epoch) == (former + 1, 0)


@pytest.mark.parametrize("is_killed", [True, False])
def test_open_transaction_outlives_a_restart(
    broker: Broker, client: SimpleClient, topic: str, *, is_killed: bool
) -> None:
    producer = a_producer(client)
    producer.begin(topic, 0)
    producer.write(topic, b"before")
    end_and_start(broker, is_killed=is_killed)
    with connect_to(broker) as again:
        producer.client = again
        wait_until_led(broker, topic)
        wait_for_coordinator(again, producer.transactional_id, TRANSACTION_KEY)
        assert committed_values(again, topic) == []
        producer.begin(topic, 0)
        assert producer.write(topic, b"after") == ErrorCode.NONE
        assert producer.end(is_commit=True) == ErrorCode.NONE
        wait_until(lambda: log_of(again, topic)[-1] == "COMMIT", 10, "the marker")
        assert committed_values(again, topic) == ["before", "after"]
        end = wire.list_offsets(again, topic, wire.LATEST, isolation_level=READ_COMMITTED)
        assert end.offset == 3


@pytest.mark.parametrize("is_killed", [True, False])
def test_aborted_transactions_are_known_after_a_restart(
    broker: Broker, client: SimpleClient, topic: str, *, is_killed: bool
) -> None:
    producer = a_producer(client)
    for number in range(4):
        producer.begin(topic, 0)
        producer.write(topic, b"%d" % number)
        producer.end(is_commit=number % 2 == 0)
    wait_until(lambda: log_of(client, topic).count("ABORT") == 2, 10, "the markers")
    end_and_start(broker, is_killed=is_killed)
    wait_until_led(broker, topic)
    with connect_to(broker) as again:
        assert committed_values(again, topic) == ["0", "2"]


def end_and_start(broker: Broker, *, is_killed: bool) -> None:
    if is_killed:
        broker.kill()
    else:
        broker.terminate()
    broker.start()
