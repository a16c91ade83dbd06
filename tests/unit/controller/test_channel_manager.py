"""Requests to one broker: in order, one at a time, again until answered, none after it is gone."""

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionRefusedError as TwistedConnectionRefusedError
from twisted.internet.task import Clock

from kafkalike.controller.channel_manager import RETRY_BACKOFF_MS, ControllerChannelManager
from kafkalike.model.broker import Broker
from kafkalike.protocol.errors import NetworkError
from kafkalike.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from kafkalike.protocol.schema import Message
from kafkalike.utils.time import Time
from tests.support.log_observer import FailureObserver
from tests.support.run import start


class Sender:
    """A way to a broker that a test answers by hand."""

    def __init__(self, channels: "Channels") -> None:
        self._channels = channels
        self.is_closed = False

    async def send(self, request: Message, version: int) -> Message:
        answer: Deferred[Message] = Deferred()
        self._channels.in_flight.append((request, answer))
        return await answer

    def close(self) -> None:
        self.is_closed = True


class Channels:
    """A channel manager with two brokers."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.senders: list[Sender] = []
        self.in_flight: list[tuple[Message, Deferred[Message]]] = []
        self.answers: list[Any] = []
        self.manager = ControllerChannelManager(self._connect, Time(self.clock))
        self.manager.add_broker(Broker(1, ()))
        self.manager.add_broker(Broker(2, ()))

    def _connect(self, broker: Broker) -> Sender:
        sender = Sender(self)
        self.senders.append(sender)
        return sender

    def send(self, number: int, broker_id: int = 1) -> None:
        request = StopReplicaRequest(controller_id=number)
        self.manager.send_request(
            broker_id, request, 3, lambda answer: self.answers.append((number, answer))
        )

    def numbers_in_flight(self) -> list[int]:
        return [getattr(request, "controller_id", -1) for request, _ in self.in_flight]

    def answer(self, result: Any = None) -> None:
        _, waiting = self.in_flight.pop(0)
        if isinstance(result, Exception):
            waiting.errback(result)
        else:
            waiting.callback(result or StopReplicaResponse())


def test_one_request_is_in_flight_and_the_others_follow_in_order() -> None:
    channels = Channels()
    for number in (1, 2, 3):
        channels.send(number)
    assert channels.numbers_in_flight() == [1]
    assert channels.manager.total_queue_size == 2
    channels.answer()
    assert channels.numbers_in_flight() == [2]
    channels.answer()
    channels.answer()
    assert [number for number, _ in channels.answers] == [1, 2, 3]
    assert len(channels.senders) == 1


def test_brokers_do_not_wait_for_each_other() -> None:
    channels = Channels()
    channels.send(1, broker_id=1)
    channels.send(2, broker_id=2)
    assert channels.numbers_in_flight() == [1, 2]


def test_failed_request_is_sent_again_over_a_new_connection_after_a_pause() -> None:
    """M71: what a broker must hear is sent again until it answers."""
    channels = Channels()
    channels.send(1)
    channels.send(2)
    for error in (NetworkError("gone"), TwistedConnectionRefusedError("nobody listens")):
        channels.answer(error)
        assert channels.senders[-1].is_closed
        assert not channels.in_flight
        channels.clock.advance(RETRY_BACKOFF_MS / 1000)
        assert channels.numbers_in_flight() == [1]
    assert len(channels.senders) == 3
    channels.answer()
    channels.answer()
    assert [number for number, _ in channels.answers] == [1, 2]


def test_unexpected_error_is_logged_and_the_request_sent_again(
    logged_failures: FailureObserver,
) -> None:
    channels = Channels()
    channels.send(1)
    channels.answer(ZeroDivisionError("a bug"))
    assert "a bug" in logged_failures.expect()[0]
    channels.clock.advance(1)
    assert channels.numbers_in_flight() == [1]


def test_removed_broker_is_sent_nothing_more_and_answers_nothing() -> None:
    channels = Channels()
    channels.send(1)
    channels.send(2)
    channels.manager.remove_broker(1)
    assert channels.senders[0].is_closed
    assert channels.manager.total_queue_size == 0
    channels.clock.advance(10)
    assert not channels.answers
    channels.send(3)
    assert channels.numbers_in_flight() == [1]  # the one that was cancelled


def test_broker_that_was_removed_while_a_pause_lasts_stays_removed() -> None:
    channels = Channels()
    channels.send(1)
    channels.answer(NetworkError("gone"))
    channels.manager.remove_broker(1)
    channels.clock.advance(10)
    assert not channels.in_flight
    assert not channels.clock.getDelayedCalls()


def test_broker_that_returns_begins_with_an_empty_queue() -> None:
    channels = Channels()
    channels.send(1)
    channels.manager.remove_broker(1)
    channels.in_flight.clear()
    channels.manager.add_broker(Broker(1, ()))
    channels.send(2)
    assert channels.numbers_in_flight() == [2]


def test_shutdown_ends_all() -> None:
    channels = Channels()
    channels.send(1, broker_id=1)
    channels.send(2, broker_id=2)
    channels.manager.shutdown()
    assert all(sender.is_closed for sender in channels.senders)
    assert not channels.answers


def test_settling_waits_until_every_broker_has_answered_everything() -> None:
    channels = Channels()
    channels.send(1, broker_id=1)
    channels.send(2, broker_id=1)
    channels.send(3, broker_id=2)
    settled = start(channels.manager.settle(1000))
    channels.answer()
    channels.answer()
    assert not settled.called
    channels.answer()
    assert settled.called
    assert not channels.clock.getDelayedCalls()


def test_nobody_waits_for_a_broker_that_is_silent_or_gone() -> None:
    channels = Channels()
    assert start(channels.manager.settle(1000)).called, "there is nothing to wait for"
    channels.send(1)
    settled = start(channels.manager.settle(1000))
    channels.clock.advance(0.9)
    assert not settled.called
    channels.clock.advance(0.2)
    assert settled.called
    settled = start(channels.manager.settle(1000))
    channels.manager.remove_broker(1)
    assert settled.called
    assert not channels.clock.getDelayedCalls()
