"""Idempotent producers on the wire: sequences, duplicates, gaps and epochs."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from tests.support import wire
from tests.support.target import Target

_producer_ids = itertools.count(1_000_000)


class Producer:
    """Sends batches under a producer id, with any epoch and sequence."""

    def __init__(self, client: SimpleClient) -> None:
        self._client = client
        self.id = next(_producer_ids)
        self.topic = wire.create_topic(client, "idempotent")

    # Any: the answer for one partition.
    def send(
        self, *values: bytes, sequence: int, epoch: int = 0, transactional_id: str | None = None
    ) -> Any:
        records = wire.batch(
            *values,
            producer_id=self.id,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=transactional_id is not None,
        )
        return wire.produce(
            self._client, self.topic, records, acks=-1, transactional_id=transactional_id
        )

    def values(self) -> list[bytes | None]:
        return [record.value for record in wire.fetch_records(self._client, self.topic)]


@pytest.fixture(scope="module")
def client(target: Target) -> Iterator[SimpleClient]:
    with target.connect() as connection:
        yield connection


@pytest.fixture
def producer(client: SimpleClient) -> Producer:
    return Producer(client)


def test_sequences_go_on_from_batch_to_batch(producer: Producer) -> None:
    assert producer.send(b"a", b"b", sequence=0).base_offset == 0
    assert producer.send(b"c", sequence=2).base_offset == 2
    assert producer.values() == [b"a", b"b", b"c"]


def test_duplicate_has_the_offset_of_the_first_time(producer: Producer) -> None:
    for number in range(6):
        assert producer.send(b"%d" % number, sequence=number).base_offset == number
    for number in (5, 1):
        again = producer.send(b"%d" % number, sequence=number)
        assert (again.error_code, again.base_offset) == (ErrorCode.NONE, number)
    assert len(producer.values()) == 6


def test_only_the_last_five_batches_are_remembered(producer: Producer) -> None:
    for number in range(6):
        producer.send(b"%d" % number, sequence=number)
    forgotten = producer.send(b"0", sequence=0)
    assert forgotten.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert len(producer.values()) == 6


@pytest.mark.parametrize("sequence", [1, 3, 100])
def test_gap_and_overlap_are_refused(producer: Producer, sequence: int) -> None:
    producer.send(b"a", b"b", sequence=0)
    refused = producer.send(b"c", b"d", sequence=sequence)
    assert refused.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.values() == [b"a", b"b"]
    assert producer.send(b"c", sequence=2).error_code == ErrorCode.NONE


def test_unknown_producer_may_begin_anywhere(producer: Producer) -> None:
    """Its earlier records may have been deleted by retention (KIP-360)."""
    assert producer.send(b"a", sequence=17).error_code == ErrorCode.NONE


def test_new_epoch_begins_at_zero_and_fences_the_old_one(producer: Producer) -> None:
    producer.send(b"a", sequence=0, epoch=1)
    refused = producer.send(b"b", sequence=7, epoch=2)
    assert refused.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.send(b"b", sequence=0, epoch=2).error_code == ErrorCode.NONE
    fenced = producer.send(b"zombie", sequence=1, epoch=1)
    assert fenced.error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert producer.values() == [b"a", b"b"]


def test_sequence_starts_over_after_the_largest_number(producer: Producer) -> None:
    largest = (1 << 31) - 1
    assert producer.send(b"a", sequence=largest - 1).error_code == ErrorCode.NONE
    assert producer.send(b"b", b"c", sequence=largest).error_code == ErrorCode.NONE
    assert producer.send(b"d", sequence=1).error_code == ErrorCode.NONE
    assert producer.values() == [b"a", b"b", b"c", b"d"]


def test_state_of_a_producer_can_be_described(client: SimpleClient, producer: Producer) -> None:
    producer.send(b"a", b"b", b"c", sequence=0, epoch=4)
    request = DescribeProducersRequest(
        topics=[TopicRequest(name=producer.topic, partition_indexes=[0])]
    )
    ((partition,),) = (topic.partitions for topic in client.send(request).topics)
    (state,) = partition.active_producers
    assert (state.producer_id, state.producer_epoch) == (producer.id, 4)
    assert state.last_sequence == 2
    assert state.current_txn_start_offset == -1


def test_open_transaction_holds_back_the_last_stable_offset(
    client: SimpleClient, producer: Producer
) -> None:
    """Who reads committed records only sees nothing from the open transaction on."""
    wire.append(client, producer.topic, b"plain")
    producer.send(b"open", sequence=0, transactional_id="txn")
    wire.append(client, producer.topic, b"after")
    committed = wire.fetch(client, producer.topic, 0, isolation_level=1)
    assert (committed.high_watermark, committed.last_stable_offset) == (3, 1)
    assert committed.aborted_transactions == []
    records = wire.fetch_records(client, producer.topic, isolation_level=1)
    assert [record.value for record in records] == [b"plain"]
    assert producer.values() == [b"plain", b"open", b"after"]
    for isolation_level, end in ((0, 3), (1, 1)):
        answer = wire.list_offsets(
            client, producer.topic, wire.LATEST, isolation_level=isolation_level
        )
        assert answer.offset == end


def test_transaction_needs_a_transactional_id(client: SimpleClient) -> None:
    """Without one nobody can be asked whether the producer may write it."""
    topic = wire.create_topic(client, partitions=2)
    options = {"producer_id": next(_producer_ids), "producer_epoch": 0, "base_sequence": 0}
    request = wire.produce_request(topic, wire.batch(b"plain"))
    transaction = wire.batch(b"open", is_transactional=True, **options)
    other = wire.produce_request(topic, transaction, partition=1)
    request.topic_data[0].partition_data += other.topic_data[0].partition_data
    ((first, second),) = (t.partition_responses for t in client.send(request).responses)
    refused = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert (first.error_code, second.error_code) == (refused, refused)
    assert wire.list_offset(client, topic, wire.LATEST) == 0
