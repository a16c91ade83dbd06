from twisted.internet.defer import CancelledError, Deferred

from kafkalike.utils.event_queue import EventQueue
from tests.support.log_observer import FailureObserver


class Handler:
    """Handles events one by one, each until the test says that it is done."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.cancelled: list[str] = []
        self._current: Deferred[None] = Deferred()
        self.queue: EventQueue[str] = EventQueue(self.handle, "the test")

    async def handle(self, event: str) -> None:
        self.begun.append(event)
        self._current = Deferred()
        try:
            await self._current
        except CancelledError:
            self.cancelled.append(event)
            raise
        self.ended.append(event)

    def finish(self) -> None:
        self._current.callback(None)

    def fail(self) -> None:
        self._current.errback(ValueError("no"))


def test_events_are_handled_one_at_a_time_and_in_order() -> None:
    handler = Handler()
    for event in "abc":
        handler.queue.put(event)
    assert handler.begun == ["a"]
    handler.finish()
    assert (handler.ended, handler.begun) == (["a"], ["a", "b"])
    handler.finish()
    handler.finish()
    assert handler.ended == ["a", "b", "c"]


def test_an_event_equal_to_one_that_waits_is_the_same_event() -> None:
    handler = Handler()
    for event in ("a", "b", "b", "a", "b"):
        handler.queue.put(event)
    for _ in range(3):
        handler.finish()
    # The first "a" was being handled when the second came: that one means "look again".
    assert handler.ended == ["a", "b", "a"]


def test_the_first_place_is_for_what_makes_the_rest_pointless() -> None:
    handler = Handler()
    for event in "abc":
        handler.queue.put(event)
    assert handler.queue.put_first("expired") == ["b", "c"]
    handler.finish()
    assert handler.begun == ["a", "expired"]
    handler.finish()
    assert handler.ended == ["a", "expired"]


def test_a_failure_does_not_stop_the_events_behind_it(logged_failures: FailureObserver) -> None:
    handler = Handler()
    handler.queue.put("bad")
    handler.queue.put("good")
    handler.fail()
    [text] = logged_failures.expect()
    assert "the test: bad failed" in text
    handler.finish()
    assert handler.ended == ["good"]


def test_stopping_cancels_the_event_in_hand_and_gives_back_the_others() -> None:
    handler = Handler()
    for event in "abc":
        handler.queue.put(event)
    assert handler.queue.stop() == ["b", "c"]
    assert handler.cancelled == ["a"]
    handler.queue.put("late")
    assert handler.begun == ["a"]


def test_an_idle_queue_takes_up_work_again() -> None:
    handler = Handler()
    handler.queue.put("a")
    handler.finish()
    handler.queue.put("a")
    handler.finish()
    assert handler.ended == ["a", "a"]


def test_an_event_put_by_a_handler_comes_after_it() -> None:
    seen: list[int] = []

    async def count_down(number: int) -> None:
        if number:
            queue.put(number - 1)
        seen.append(number)

    queue: EventQueue[int] = EventQueue(count_down, "counting")
    queue.put(3)
    assert seen == [3, 2, 1, 0]
