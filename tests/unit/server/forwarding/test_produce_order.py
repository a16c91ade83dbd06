"""Gaps in the sequences of idempotent producers: when they open, hold up, and close."""

import pytest

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.server.forwarding import produce_order
from kafkalike.server.forwarding.produce_order import MAX_BEHIND, ProduceOrder

TP = TopicPartition("t", 0)
LAST = 2**31 - 1


def request(sequence: int, *, producer_id: int = 7, epoch: int = 0) -> ProduceRequest:
    builder = BatchBuilder(producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
    builder.append(1, None, b"v")
    return _request(builder.build())


def _request(records: bytes | None) -> ProduceRequest:
    data = [PartitionProduceData(index=0, records=records)]
    return ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="t", partition_data=data)])


def answered(order: ProduceOrder, asked: ProduceRequest, code: ErrorCode) -> None:
    one = PartitionProduceResponse(index=0, error_code=code)
    topics = [TopicProduceResponse(name="t", partition_responses=[one])]
    order.answered(asked, ProduceResponse(responses=topics), {TP})


@pytest.fixture
def order() -> ProduceOrder:
    """Sequence 5 has failed."""
    made = ProduceOrder(always_watches=False)
    answered(made, request(5), ErrorCode.NOT_LEADER_OR_FOLLOWER)
    return made


@pytest.mark.parametrize(
    ("sequence", "is_held_up"), [(4, False), (5, False), (6, True), (1000, True)]
)
def test_what_comes_behind_the_gap_is_held_up(
    order: ProduceOrder, sequence: int, is_held_up: bool
) -> None:
    assert order.held_up(request(sequence)) == ({TP} if is_held_up else set())


def test_sequences_go_on_with_0_after_the_largest() -> None:
    order = ProduceOrder(always_watches=False)
    answered(order, request(LAST), ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert order.held_up(request(0)) == {TP}
    assert not order.held_up(request(LAST))


@pytest.mark.parametrize("code", [ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER])
def test_gap_closes_when_its_batch_has_reached_a_leader(
    order: ProduceOrder, code: ErrorCode
) -> None:
    answered(order, request(5), code)
    assert not order.held_up(request(6))
    assert not order.is_watching


def test_gap_stays_while_its_batch_goes_on_failing(order: ProduceOrder) -> None:
    answered(order, request(5), ErrorCode.REQUEST_TIMED_OUT)
    assert order.held_up(request(6)) == {TP}


def test_no_more_is_held_up_than_can_have_been_in_flight(order: ProduceOrder) -> None:
    """The client has sent the batch again, by another connection, and goes on here."""
    for sequence in range(6, 6 + MAX_BEHIND):
        assert order.held_up(request(sequence)) == {TP}
    assert not order.held_up(request(6 + MAX_BEHIND))
    assert not order.is_watching


def test_batch_that_was_refused_here_opens_no_gap() -> None:
    """Its client must go to another broker, and may come back when this one leads."""
    order = ProduceOrder(always_watches=False)
    one = PartitionProduceResponse(index=0, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    topics = [TopicProduceResponse(name="t", partition_responses=[one])]
    order.answered(request(0), ProduceResponse(responses=topics), set())
    assert not order.is_watching


def test_gap_begins_at_the_first_that_failed(order: ProduceOrder) -> None:
    answered(order, request(6), ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert not order.held_up(request(5))
    answered(order, request(3), ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert order.held_up(request(5)) == {TP}


def test_errors_of_the_leader_itself_open_no_gap() -> None:
    """As without a hop: the leader has seen the batch and judged it."""
    order = ProduceOrder(always_watches=False)
    answered(order, request(0), ErrorCode.MESSAGE_TOO_LARGE)
    assert not order.is_watching


def test_other_producers_and_new_epochs_go_on(order: ProduceOrder) -> None:
    """A client that gives a batch up begins a new epoch, with sequence 0."""
    assert not order.held_up(request(9, producer_id=8))
    assert not order.held_up(request(9, epoch=1))


@pytest.mark.parametrize("records", [None, b"", b"short", bytes(100)])
def test_records_without_sequences_have_no_order_to_keep(
    order: ProduceOrder, records: bytes | None
) -> None:
    answered(order, _request(records), ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert not order.held_up(_request(records))


def test_plain_batches_have_no_order_to_keep() -> None:
    order = ProduceOrder(always_watches=False)
    answered(order, request(-1, producer_id=-1, epoch=-1), ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert not order.is_watching


def test_order_is_watched_while_there_is_a_gap_or_always(order: ProduceOrder) -> None:
    assert order.is_watching
    assert not ProduceOrder(always_watches=False).is_watching
    assert ProduceOrder(always_watches=True).is_watching


def test_gaps_are_bounded(order: ProduceOrder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(produce_order, "MAX_GAPS", 1)
    answered(order, request(5, producer_id=8), ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert not order.held_up(request(6)), "the oldest is forgotten"
    assert order.held_up(request(6, producer_id=8)) == {TP}
