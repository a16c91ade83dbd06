from typing import cast

from twisted.internet.task import Clock

from kafkalike.protocol.errors import NetworkError
from kafkalike.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)
from kafkalike.server.controlled_shutdown import ControlledShutdown
from kafkalike.server.controller_channel import ControllerChannel
from kafkalike.utils.time import Time
from tests.support.run import result_of, run, start

DONE = ControlledShutdownResponse()
BUSY = ControlledShutdownResponse(
    remaining_partitions=[RemainingPartition(topic_name="t", partition_index=0)]
)


class FakeChannel:
    """Gives one answer after the other; an exception is raised."""

    def __init__(self, *answers: ControlledShutdownResponse | Exception) -> None:
        self._answers = list(answers)
        self.requests: list[ControlledShutdownRequest] = []
        self.is_closed = False

    async def send(
        self, request: ControlledShutdownRequest, version: int
    ) -> ControlledShutdownResponse:
        assert version == 3
        self.requests.append(request)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        self.is_closed = True


def _shutdown(channel: FakeChannel, clock: Clock) -> ControlledShutdown:
    return ControlledShutdown(
        cast(ControllerChannel, channel), Time(clock), max_retries=3, backoff_ms=5000
    )


def test_broker_that_leads_nothing_is_done_at_once() -> None:
    channel = FakeChannel(DONE)
    assert run(_shutdown(channel, Clock()).run(7, 42))
    (request,) = channel.requests
    assert (request.broker_id, request.broker_epoch) == (7, 42)


def test_controller_is_asked_again_until_nothing_is_left() -> None:
    clock = Clock()
    channel = FakeChannel(BUSY, NetworkError("gone"), DONE)
    running = start(_shutdown(channel, clock).run(7, 42))
    clock.pump([5, 5])
    assert result_of(running) is True
    assert len(channel.requests) == 3


def test_retries_have_an_end() -> None:
    clock = Clock()
    running = start(_shutdown(FakeChannel(BUSY, BUSY, BUSY), clock).run(7, 42))
    clock.pump([5, 5, 5])
    assert result_of(running) is False


def test_hurry_ends_the_wait_at_once() -> None:
    clock = Clock()
    channel = FakeChannel(BUSY)
    shutdown = _shutdown(channel, clock)
    running = start(shutdown.run(7, 42))
    shutdown.hurry()
    assert result_of(running) is False
    assert channel.is_closed
    assert not clock.getDelayedCalls()
