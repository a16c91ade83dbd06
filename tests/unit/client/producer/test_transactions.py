"""A transactional producer on a fake cluster and a fake clock."""

from typing import Any

import pytest

from kafkalike.client.async_producer import KafkaProducer
from kafkalike.client.consumer.offsets import ConsumerGroupMetadata, OffsetAndMetadata
from kafkalike.client.producer.transaction_state import TransactionState
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import (
    ErrorCode,
    InvalidTxnStateError,
    KafkaError,
    ProducerFencedError,
    TopicAuthorizationError,
)
from kafkalike.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kafkalike.protocol.messages.end_txn import EndTxnRequest
from kafkalike.protocol.messages.init_producer_id import InitProducerIdRequest
from kafkalike.protocol.messages.produce import ProduceRequest
from kafkalike.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kafkalike.protocol.records.record_batch import iter_batches
from tests.support.client_cluster import FakeCluster

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster(brokers=2)
    cluster.add_topic("t", 1, 2)
    return cluster


@pytest.fixture
def producer(cluster: FakeCluster) -> KafkaProducer:
    """A producer whose transactions are initialised."""
    made = KafkaProducer(
        reactor=cluster.reactor,
        bootstrap_servers=cluster.bootstrap_servers,
        transactional_id="mover",
        delivery_timeout_ms=2000,
    )
    cluster.run(made.init_transactions())
    return made


def send(cluster: FakeCluster, producer: KafkaProducer, value: bytes = b"v") -> Any:
    return cluster.run(producer.send("t", value, partition=0))


def test_commit_ends_what_was_added_and_written(
    cluster: FakeCluster, producer: KafkaProducer
) -> None:
    producer.begin_transaction()
    send(cluster, producer, b"a")
    send(cluster, producer, b"b")
    cluster.run(producer.commit_transaction())
    kinds = (AddPartitionsToTxnRequest, ProduceRequest, EndTxnRequest)
    order = [type(request).__name__ for _, request in cluster.requests if type(request) in kinds]
    assert order[0] == "AddPartitionsToTxnRequest"
    assert order.count("AddPartitionsToTxnRequest") == 1
    assert order[-1] == "EndTxnRequest"
    assert cluster.sent(EndTxnRequest)[0].committed
    (_, header), *_ = iter_batches(bytes(cluster.logs[T0]))
    assert header.is_transactional
    assert header.producer_id == 4000


def test_empty_transaction_needs_no_end(cluster: FakeCluster, producer: KafkaProducer) -> None:
    producer.begin_transaction()
    cluster.run(producer.commit_transaction())
    assert not cluster.sent(EndTxnRequest)
    assert producer.transactions.state is TransactionState.READY


def test_abort_drops_what_was_not_sent(cluster: FakeCluster, producer: KafkaProducer) -> None:
    cluster.hold.add(ApiKey.ADD_PARTITIONS_TO_TXN)
    producer.begin_transaction()
    future = send(cluster, producer)
    cluster.hold.clear()
    cluster.run(producer.abort_transaction())
    assert future.failed()
    assert not cluster.records(T0)
    producer.begin_transaction()
    send(cluster, producer, b"next")
    cluster.run(producer.commit_transaction())
    assert [record.value for record in cluster.records(T0)] == [b"next"]


def test_refused_partition_fails_the_transaction_and_nothing_hangs(
    cluster: FakeCluster, producer: KafkaProducer
) -> None:
    cluster.fail_next(ApiKey.ADD_PARTITIONS_TO_TXN, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    producer.begin_transaction()
    future = send(cluster, producer)
    with pytest.raises(TopicAuthorizationError):
        cluster.run(producer.commit_transaction(), within_ms=5000)
    assert future.failed()
    with pytest.raises(TopicAuthorizationError):
        send(cluster, producer)
    cluster.run(producer.abort_transaction())
    producer.begin_transaction()
    send(cluster, producer, b"good")
    cluster.run(producer.commit_transaction())
    assert [record.value for record in cluster.records(T0)] == [b"good"]


def test_lost_record_lets_the_transaction_be_aborted_only(
    cluster: FakeCluster, producer: KafkaProducer
) -> None:
    producer.begin_transaction()
    cluster.fail_next(ApiKey.PRODUCE, ErrorCode.INVALID_RECORD)
    send(cluster, producer)
    with pytest.raises(KafkaError):
        cluster.run(producer.commit_transaction())
    assert producer.transactions.state is TransactionState.ABORTABLE_ERROR
    cluster.run(producer.abort_transaction())
    # KIP-360: the producer goes on under a new epoch.
    assert len(cluster.sent(InitProducerIdRequest)) == 2
    assert cluster.sent(InitProducerIdRequest)[1].producer_id == 4000


def test_fenced_producer_is_done_for(cluster: FakeCluster, producer: KafkaProducer) -> None:
    producer.begin_transaction()
    cluster.fail_next(ApiKey.ADD_PARTITIONS_TO_TXN, ErrorCode.PRODUCER_FENCED)
    send(cluster, producer)
    with pytest.raises(ProducerFencedError):
        cluster.run(producer.commit_transaction())
    with pytest.raises(ProducerFencedError):
        cluster.run(producer.abort_transaction())
    with pytest.raises(ProducerFencedError):
        producer.begin_transaction()


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ],
)
@pytest.mark.parametrize("key", [ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.END_TXN])
def test_what_passes_is_asked_again(
    cluster: FakeCluster, producer: KafkaProducer, key: ApiKey, code: ErrorCode
) -> None:
    cluster.fail_next(key, code, code)
    producer.begin_transaction()
    send(cluster, producer)
    cluster.run(producer.commit_transaction())
    assert len(cluster.records(T0)) == 1


def test_offsets_are_part_of_the_transaction(cluster: FakeCluster, producer: KafkaProducer) -> None:
    producer.begin_transaction()
    group = ConsumerGroupMetadata("g", 3, "member", None)
    offsets = {T0: OffsetAndMetadata(9, "note"), T1: 5}  # a bare number does as well
    cluster.run(producer.send_offsets_to_transaction(offsets, group))
    cluster.run(producer.commit_transaction())
    (request,) = cluster.sent(TxnOffsetCommitRequest)
    assert (request.group_id, request.generation_id, request.member_id) == ("g", 3, "member")
    assert cluster.committed == {T0: 9, T1: 5}
    assert len(cluster.sent(EndTxnRequest)) == 1


def test_calls_out_of_order_are_refused(cluster: FakeCluster, producer: KafkaProducer) -> None:
    with pytest.raises(InvalidTxnStateError):
        send(cluster, producer)
    with pytest.raises(InvalidTxnStateError):
        cluster.run(producer.commit_transaction())
    producer.begin_transaction()
    with pytest.raises(InvalidTxnStateError):
        producer.begin_transaction()


def test_transactions_need_an_id(cluster: FakeCluster) -> None:
    plain = KafkaProducer(reactor=cluster.reactor, bootstrap_servers=cluster.bootstrap_servers)
    with pytest.raises(ValueError, match="transactional_id"):
        plain.begin_transaction()


S = TransactionState
LEGAL = {
    (S.UNINITIALIZED, S.READY),
    (S.COMMITTING, S.READY),
    (S.ABORTING, S.READY),
    (S.READY, S.IN_TRANSACTION),
    (S.IN_TRANSACTION, S.COMMITTING),
    (S.IN_TRANSACTION, S.ABORTING),
    (S.ABORTABLE_ERROR, S.ABORTING),
    (S.IN_TRANSACTION, S.ABORTABLE_ERROR),
    (S.COMMITTING, S.ABORTABLE_ERROR),
    (S.ABORTABLE_ERROR, S.ABORTABLE_ERROR),
} | {(state, S.FATAL_ERROR) for state in S}


@pytest.mark.parametrize("before", S)
@pytest.mark.parametrize("after", S)
def test_state_follows_only_its_predecessors(
    before: TransactionState, after: TransactionState
) -> None:
    if (before, after) in LEGAL:
        after.check_follows(before)
    else:
        with pytest.raises(InvalidTxnStateError):
            after.check_follows(before)
