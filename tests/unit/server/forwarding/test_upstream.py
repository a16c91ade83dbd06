"""A client's way to another broker: order, time limits, and what is known of a lost request."""

from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from kafkalike.protocol.errors import NetworkError
from kafkalike.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkalike.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkalike.protocol.schema import Message
from kafkalike.server.forwarding.upstream import Channel, NotSentError, Upstream
from kafkalike.utils.time import Time
from tests.support.forwarding_world import FakeChannel, refused
from tests.support.run import result_of, start

SETUP_MS, PATIENCE_MS = 10_000, 30_000


class Way:
    """An upstream whose connecting is in the test's hand."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.connecting: list[tuple[int, Deferred[Channel]]] = []
        self.silent_losses = 0
        self.upstream = Upstream(self._connect, Time(self.clock), self._lost)

    def _connect(self, timeout_ms: int) -> "Deferred[Channel]":
        self.connecting.append((timeout_ms, Deferred()))
        return self.connecting[-1][1]

    def _lost(self) -> None:
        self.silent_losses += 1

    def connected(self) -> FakeChannel:
        channel = FakeChannel()
        self.connecting.pop(0)[1].callback(channel)
        return channel

    def send(self, request: Message, version: int = 5) -> "Deferred[Any]":
        sending = self.upstream.send(request, version, setup_ms=SETUP_MS, patience_ms=PATIENCE_MS)
        return start(sending)

    def send_unanswered(self, request: Message) -> "Deferred[Any]":
        return start(self.upstream.send_unanswered(request, 5, setup_ms=SETUP_MS))


@pytest.fixture
def way() -> Way:
    return Way()


def a_produce(timeout_ms: int = 1500) -> ProduceRequest:
    return ProduceRequest(acks=-1, timeout_ms=timeout_ms, topic_data=[])


def test_requests_that_wait_for_the_connection_go_out_in_their_order(way: Way) -> None:
    """Rule 2: one upstream connection keeps the client's order, from the first request on."""
    answers = [way.send(a_produce(timeout_ms)) for timeout_ms in (1, 2, 3)]
    assert len(way.connecting) == 1
    channel = way.connected()
    assert [request.timeout_ms for request in channel.sent] == [1, 2, 3]
    for _ in answers:
        channel.answer(ProduceResponse())
    assert [result_of(answer) for answer in answers] == [ProduceResponse()] * 3


def test_second_request_uses_the_same_connection(way: Way) -> None:
    way.send(a_produce())
    channel = way.connected()
    way.send(ListOffsetsRequest())
    assert len(channel.sent) == 2
    assert not way.connecting


def test_time_limit_of_a_request_shrinks_by_what_connecting_took(way: Way) -> None:
    """Rule 5: deadlines shrink by the time already spent."""
    way.send(a_produce(timeout_ms=1500))
    way.clock.advance(0.4)
    channel = way.connected()
    assert [request.timeout_ms for request in channel.sent] == [1100]
    assert channel.timeouts_ms == [1100 + PATIENCE_MS]


def test_time_limit_is_never_less_than_nothing(way: Way) -> None:
    way.send(a_produce(timeout_ms=300))
    way.clock.advance(0.4)
    assert [request.timeout_ms for request in way.connected().sent] == [0]


def test_request_without_a_time_limit_waits_as_long_as_brokers_do(way: Way) -> None:
    way.send(ListOffsetsRequest())
    way.clock.advance(0.4)
    assert way.connected().timeouts_ms == [PATIENCE_MS]


@pytest.mark.parametrize(("timeout_ms", "setup_ms"), [(0, 1000), (4000, 4000), (60_000, SETUP_MS)])
def test_connecting_takes_no_longer_than_the_request_may(
    way: Way, timeout_ms: int, setup_ms: int
) -> None:
    way.send(a_produce(timeout_ms))
    assert way.connecting[0][0] == setup_ms


def test_request_that_finds_no_connection_was_not_sent(way: Way) -> None:
    sending = way.send(a_produce())
    way.connecting.pop()[1].errback(refused())
    with pytest.raises(NotSentError):
        result_of(sending)


def test_outcome_of_a_request_whose_connection_was_lost_is_not_known(way: Way) -> None:
    """Rule 5: an error, and not the one of a request that had no effect."""
    sending = way.send(a_produce())
    way.connected().close()
    with pytest.raises(NetworkError):
        result_of(sending)


def test_lost_connection_is_made_anew_by_the_next_request(way: Way) -> None:
    way.send(a_produce()).addErrback(lambda _: None)
    way.connected().close()
    answer = way.send(ListOffsetsRequest())
    way.connected().answer(ListOffsetsResponse())
    assert result_of(answer) == ListOffsetsResponse()


def test_failed_connection_does_not_hold_up_the_next_request(way: Way) -> None:
    first, second = way.send(a_produce()), way.send(a_produce())
    way.connecting.pop(0)[1].errback(refused())
    with pytest.raises(NotSentError):
        result_of(first)
    way.connected().answer(ProduceResponse())
    assert result_of(second) == ProduceResponse()


def test_closing_fails_what_is_in_flight_and_what_comes_later(way: Way) -> None:
    first = way.send(a_produce())
    channel = way.connected()
    way.upstream.close("the client is gone")
    with pytest.raises(NetworkError, match="the client is gone"):
        result_of(first)
    second = way.send(a_produce())
    assert not channel.is_open
    late = way.connected()
    with pytest.raises(NotSentError):
        result_of(second)
    assert not late.is_open, "a connection that comes too late is closed"
    assert not late.sent


def test_acks_0_waits_for_no_answer(way: Way) -> None:
    """Rule 5: acks=0 is forwarded without an answer."""
    sending = way.send_unanswered(ProduceRequest(acks=0))
    channel = way.connected()
    assert result_of(sending) is None
    assert len(channel.sent) == 1
    assert not channel.waiting


def test_connection_lost_after_acks_0_is_passed_on(way: Way) -> None:
    """A broker closes the connection where a produce with acks=0 failed: so the client learns."""
    way.send_unanswered(ProduceRequest(acks=0))
    way.connected().close()
    assert way.silent_losses == 1


def test_connection_lost_without_acks_0_is_not_the_clients_affair(way: Way) -> None:
    way.send(a_produce()).addErrback(lambda _: None)
    way.connected().close()
    assert way.silent_losses == 0


def test_client_that_is_gone_needs_not_learn_anything(way: Way) -> None:
    way.send_unanswered(ProduceRequest(acks=0))
    way.connected()
    way.upstream.close("the client is gone")
    assert way.silent_losses == 0


def test_acks_0_that_cannot_be_sent_says_so(way: Way) -> None:
    sending = way.send_unanswered(ProduceRequest(acks=0))
    way.connecting.pop()[1].errback(refused())
    with pytest.raises(NotSentError):
        result_of(sending)
