import pytest
from twisted.internet.defer import CancelledError, Deferred

from kafkalike.utils.background import Background
from tests.support.log_observer import FailureObserver


async def wait_for(deferred: "Deferred[None]", seen: list[str]) -> None:
    try:
        await deferred
        seen.append("done")
    except CancelledError:
        seen.append("cancelled")
        raise


def test_a_coroutine_runs_to_its_end() -> None:
    event: Deferred[None] = Deferred()
    seen: list[str] = []
    Background().start(wait_for(event, seen), "waiting")
    assert seen == []
    event.callback(None)
    assert seen == ["done"]


def test_a_failure_is_logged_with_the_name_of_the_work(logged_failures: FailureObserver) -> None:
    event: Deferred[None] = Deferred()
    Background().start(wait_for(event, []), "moving the log")
    event.errback(ValueError("no space"))
    [text] = logged_failures.expect()
    assert "moving the log failed" in text
    assert "ValueError: no space" in text


def test_a_failure_before_the_first_wait_is_logged_too(logged_failures: FailureObserver) -> None:
    async def fail() -> None:
        raise ValueError("at once")

    Background().start(fail(), "failing")
    logged_failures.expect()


def test_stopping_cancels_what_still_runs_and_logs_nothing() -> None:
    background = Background()
    seen: list[str] = []
    for _ in range(2):
        background.start(wait_for(Deferred(), seen), "waiting")
    background.stop()
    assert seen == ["cancelled", "cancelled"]


def test_nothing_starts_after_the_stop() -> None:
    background = Background()
    background.stop()
    seen: list[str] = []

    async def work() -> None:
        seen.append("started")

    background.start(work(), "late")
    assert seen == []


def test_what_ended_is_not_cancelled() -> None:
    background = Background()
    seen: list[str] = []
    event: Deferred[None] = Deferred()
    background.start(wait_for(event, seen), "waiting")
    event.callback(None)
    background.stop()
    assert seen == ["done"]


def test_work_that_catches_everything_but_lets_cancellation_through_can_be_stopped() -> None:
    background = Background()
    rounds = 0

    async def loop() -> None:
        nonlocal rounds
        while True:
            rounds += 1
            await Deferred()

    background.start(loop(), "looping")
    background.stop()
    assert rounds == 1


@pytest.mark.parametrize("count", [0, 1, 5])
def test_each_owner_stops_only_its_own(count: int) -> None:
    mine, other = Background(), Background()
    seen: list[str] = []
    others: list[str] = []
    for _ in range(count):
        mine.start(wait_for(Deferred(), seen), "mine")
    other.start(wait_for(Deferred(), others), "other")
    mine.stop()
    assert seen == ["cancelled"] * count
    assert others == []
    other.stop()
