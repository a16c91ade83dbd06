"""Transactions on the wire: ours answers every step as Apache Kafka does."""

from collections.abc import Callable, Iterator

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.delete_topics import DeleteTopicsRequest
from kafkalike.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kafkalike.protocol.messages.end_txn import EndTxnRequest
from kafkalike.protocol.messages.init_producer_id import InitProducerIdRequest
from tests.support import wire
from tests.support.broker import Broker
from tests.support.target import Target
from tests.support.waiting import wait_until
from tests.support.wire_transactions import (
    GROUP_KEY,
    READ_COMMITTED,
    WireProducer,
    committed_offset,
    committed_values,
    log_of,
    wait_for_coordinator,
)

ONE_BROKER = {
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "1",
}
FENCED = [(1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)]


@pytest.fixture(scope="module")
def broker(broker_factory: Callable[..., Broker]) -> Broker:
    return broker_factory(properties=ONE_BROKER)


@pytest.fixture(scope="module")
def client(target: Target) -> Iterator[SimpleClient]:
    with target.connect() as connection:
        yield connection


@pytest.fixture
def producer(client: SimpleClient) -> WireProducer:
    made = WireProducer(client)
    made.init()
    return made


@pytest.fixture
def topic(client: SimpleClient) -> str:
    return wire.create_topic(client, "transactional", partitions=2)


# --- InitProducerId


@pytest.mark.parametrize("version", range(5))
def test_idempotent_producers_get_different_ids(client: SimpleClient, version: int) -> None:
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
    answers = [client.send(request, version) for _ in range(3)]
    assert {a.error_code for a in answers} == {ErrorCode.NONE}
    assert {a.producer_epoch for a in answers} == {0}
    assert len({a.producer_id for a in answers}) == 3


@pytest.mark.parametrize("version", range(5))
def test_every_start_raises_the_epoch(
    client: SimpleClient, producer: WireProducer, version: int
) -> None:
    assert producer.epoch == 0
    for epoch in (1, 2):
        answer = producer.ask_for_id(version)
        assert (answer.error_code, answer.producer_id) == (ErrorCode.NONE, producer.id)
        assert answer.producer_epoch == epoch


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"transactional_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"transaction_timeout_ms": 0}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ({"transaction_timeout_ms": 900_001}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ({"producer_id": 5}, ErrorCode.INVALID_REQUEST),
        ({"producer_epoch": 5}, ErrorCode.INVALID_REQUEST),
        ({"producer_id": 123_456, "producer_epoch": 0}, ErrorCode.PRODUCER_FENCED),
    ],
)
def test_impossible_starts_are_refused(
    producer: WireProducer, fields: dict[str, object], code: ErrorCode
) -> None:
    answer = producer.ask_for_id(**fields)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (code, -1, -1)


def test_producer_goes_on_after_an_error(producer: WireProducer) -> None:
    """KIP-360: only who knows the current epoch, or the one before it, gets the next."""

    def go_on(epoch: int) -> tuple[ErrorCode, int]:
        answer = producer.ask_for_id(producer_id=producer.id, producer_epoch=epoch)
        return ErrorCode(answer.error_code), answer.producer_epoch

    assert go_on(0) == (ErrorCode.NONE, 1)
    assert go_on(0) == (ErrorCode.NONE, 1)
    assert go_on(1) == (ErrorCode.NONE, 2)
    assert go_on(0) == (ErrorCode.PRODUCER_FENCED, -1)


@pytest.mark.parametrize(
    ("version", "code"), [(3, ErrorCode.INVALID_PRODUCER_EPOCH), (4, ErrorCode.PRODUCER_FENCED)]
)
def test_fenced_start_is_told_in_words_that_the_version_has(
    producer: WireProducer, version: int, code: ErrorCode
) -> None:
    producer.init()
    answer = producer.ask_for_id(version, producer_id=producer.id, producer_epoch=0)
    assert answer.error_code == code


# --- transactions


@pytest.mark.parametrize("version", range(4))
@pytest.mark.parametrize("is_commit", [True, False])
def test_transaction_takes_effect_as_a_whole(
    client: SimpleClient, producer: WireProducer, topic: str, version: int, *, is_commit: bool
) -> None:
    wire.append(client, topic, b"before")
    assert producer.add(topic, 0, 1, version=version) == [ErrorCode.NONE] * 2
    assert producer.write(topic, b"a", b"b") == ErrorCode.NONE
    assert producer.write(topic, b"c", partition=1) == ErrorCode.NONE
    wire.append(client, topic, b"after")
    assert committed_values(client, topic) == ["before"]
    assert producer.end(is_commit=is_commit, version=version) == ErrorCode.NONE
    marker = "COMMIT" if is_commit else "ABORT"
    wait_until(lambda: log_of(client, topic)[-1] == marker, 10, "marker")
    assert log_of(client, topic) == ["before", "a", "b", "after", marker]
    wait_until(lambda: log_of(client, topic, 1) == ["c", marker], 10, "marker")
    seen = ["before", "a", "b", "after"] if is_commit else ["before", "after"]
    assert committed_values(client, topic) == seen
    assert committed_values(client, topic, 1) == (["c"] if is_commit else [])


@pytest.mark.parametrize("is_commit", [True, False])
def test_end_can_be_asked_for_again_but_not_changed(
    producer: WireProducer, topic: str, *, is_commit: bool
) -> None:
    producer.begin(topic, 0)
    assert producer.end(is_commit=is_commit) == ErrorCode.NONE
    wait_until(lambda: producer.end(is_commit=is_commit) == ErrorCode.NONE, 10, "the same answer")
    assert producer.end(is_commit=not is_commit) == ErrorCode.INVALID_TXN_STATE


def test_end_without_a_transaction_is_refused(producer: WireProducer) -> None:
    assert producer.end(is_commit=True) == ErrorCode.INVALID_TXN_STATE
    assert producer.end(is_commit=False) == ErrorCode.INVALID_TXN_STATE


def test_many_transactions_follow_one_another(
    client: SimpleClient, producer: WireProducer, topic: str
) -> None:
    for number in range(10):
        producer.begin(topic, 0)
        assert producer.write(topic, b"%d" % number) == ErrorCode.NONE
        assert producer.end(is_commit=number % 2 == 0) == ErrorCode.NONE
    wait_until(lambda: log_of(client, topic)[-1] == "ABORT", 10, "the last marker")
    assert committed_values(client, topic) == ["0", "2", "4", "6", "8"]


def test_all_partitions_are_added_or_none(producer: WireProducer, topic: str) -> None:
    assert producer.add(topic, 0, 9) == [
        ErrorCode.OPERATION_NOT_ATTEMPTED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert producer.end(is_commit=True) == ErrorCode.INVALID_TXN_STATE


def test_producers_add_no_internal_topics(client: SimpleClient, producer: WireProducer) -> None:
    wait_for_coordinator(client, producer.group, GROUP_KEY)
    for name in ("__consumer_offsets", "__transaction_state"):
        assert producer.add(name, 0) == [ErrorCode.TOPIC_AUTHORIZATION_FAILED]


def test_unknown_producer_has_no_transaction(
    client: SimpleClient, producer: WireProducer, topic: str
) -> None:
    mismatch = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    producer.id += 1
    assert producer.add(topic, 0) == [mismatch]
    assert producer.end(is_commit=True) == mismatch
    producer.transactional_id += "-unknown"
    assert producer.add(topic, 0) == [mismatch]
    assert producer.end(is_commit=True) == mismatch
    empty = EndTxnRequest(transactional_id="", producer_id=0, producer_epoch=0, committed=True)
    assert client.send(empty).error_code == ErrorCode.INVALID_REQUEST


def test_deleted_topic_does_not_hold_up_the_transaction(
    client: SimpleClient, producer: WireProducer, topic: str
) -> None:
    gone = wire.create_topic(client, "gone")
    producer.begin(gone, 0)
    producer.write(gone, b"lost")
    client.send(DeleteTopicsRequest(topic_names=[gone], timeout_ms=20_000), 5)
    assert producer.end(is_commit=True) == ErrorCode.NONE
    producer.begin(topic, 0)


# --- zombies


@pytest.mark.parametrize(("version", "code"), FENCED)
def test_zombie_is_fenced_everywhere(
    client: SimpleClient, producer: WireProducer, topic: str, version: int, code: ErrorCode
) -> None:
    producer.begin(topic, 0)
    producer.write(topic, b"of the zombie")
    successor = WireProducer(client, producer.transactional_id)
    assert successor.ask_for_id().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    successor.init()
    assert (successor.id, successor.epoch) == (producer.id, producer.epoch + 2)
    assert producer.add(topic, 1, version=version) == [code]
    assert producer.add_offsets(version) == code
    assert producer.end(is_commit=True, version=version) == code
    assert producer.write(topic, b"late") == ErrorCode.INVALID_PRODUCER_EPOCH
    assert log_of(client, topic) == ["of the zombie", "ABORT"]
    assert committed_values(client, topic) == []


# --- offsets


@pytest.mark.parametrize("is_commit", [True, False])
def test_offsets_take_effect_with_the_transaction(
    client: SimpleClient, producer: WireProducer, topic: str, *, is_commit: bool
) -> None:
    wait_for_coordinator(client, producer.group, GROUP_KEY)
    wait_until(lambda: producer.add_offsets() == ErrorCode.NONE, 10, "offsets in transaction")
    wait_until(lambda: producer.commit_offset(topic, 42) == ErrorCode.NONE, 10, "offset")
    assert committed_offset(client, producer.group, topic) == (-1, ErrorCode.NONE)
    _, code = committed_offset(client, producer.group, topic, require_stable=True)
    assert code == ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert producer.end(is_commit=is_commit) == ErrorCode.NONE
    settled = (42 if is_commit else -1, ErrorCode.NONE)
    wait_until(
        lambda: committed_offset(client, producer.group, topic, require_stable=True) == settled,
        10,
        "the offset that is committed",
    )


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation_id": 5}, ErrorCode.ILLEGAL_GENERATION),
        ({"member_id": "stranger", "generation_id": 5}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_instance_id": "unknown", "member_id": "x"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_group_fences_members_that_are_none(
    client: SimpleClient,
    producer: WireProducer,
    topic: str,
    fields: dict[str, object],
    code: ErrorCode,
) -> None:
    """KIP-447: a consumer that lost its partitions cannot commit what it read."""
    wait_for_coordinator(client, producer.group, GROUP_KEY)
    wait_until(lambda: producer.add_offsets() == ErrorCode.NONE, 10, "offsets in transaction")
    wait_until(lambda: producer.commit_offset(topic, 1) == ErrorCode.NONE, 10, "loaded group")
    assert producer.commit_offset(topic, 42, **fields) == code
    producer.end(is_commit=False)


# --- what readers see


def test_open_transaction_bounds_those_who_read_committed_records(
    client: SimpleClient, producer: WireProducer, topic: str
) -> None:
    wire.append(client, topic, b"before")
    producer.begin(topic, 0)
    producer.write(topic, b"open")
    ends = [
        wire.list_offsets(client, topic, wire.LATEST, isolation_level=level).offset
        for level in (0, READ_COMMITTED)
    ]
    assert ends == [2, 1]
    by_time = wire.list_offsets(client, topic, 0, isolation_level=READ_COMMITTED)
    assert by_time.offset == 0
    producer.end(is_commit=True)
    wait_until(
        lambda: (
            wire.list_offsets(client, topic, wire.LATEST, isolation_level=READ_COMMITTED).offset
            == 3
        ),
        10,
        "the last stable offset",
    )


def test_time_of_an_open_transaction_has_no_offset_for_those_who_read_committed_records(
    client: SimpleClient, producer: WireProducer, topic: str
) -> None:
    old = wire.batch(b"before", timestamp=wire.now_ms() - 60_000)
    assert wire.produce(client, topic, old, acks=-1).error_code == ErrorCode.NONE
    time_of_open = wire.now_ms() - 30_000
    producer.begin(topic, 0)
    producer.write(topic, b"open")

    def offset(isolation_level: int) -> int:
        answer = wire.list_offsets(client, topic, time_of_open, isolation_level=isolation_level)
        assert answer.error_code == ErrorCode.NONE
        return int(answer.offset)

    assert [offset(0), offset(READ_COMMITTED)] == [1, -1]
    producer.end(is_commit=True)
    wait_until(lambda: offset(READ_COMMITTED) == 1, 10, "the last stable offset")


def test_state_of_the_producer_shows_the_transaction(
    client: SimpleClient, producer: WireProducer, topic: str
) -> None:
    request = DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[0])])

    def described() -> tuple[int, int, int]:
        ((partition,),) = (one.partitions for one in client.send(request).topics)
        (state,) = partition.active_producers
        assert state.producer_id == producer.id
        return state.producer_epoch, state.last_sequence, state.current_txn_start_offset

    wire.append(client, topic, b"before")
    producer.begin(topic, 0)
    producer.write(topic, b"a", b"b")
    assert described() == (producer.epoch, 1, 1)
    producer.end(is_commit=True)
    wait_until(lambda: described() == (producer.epoch, 1, -1), 10, "the end of the transaction")
