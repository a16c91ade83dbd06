from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from kafkalike.utils.background import Background
from kafkalike.utils.periodic import PeriodicTasks
from kafkalike.utils.time import Time
from tests.support.log_observer import FailureObserver


class Periodic:
    """A periodic task on a clock of the test."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.background = Background()
        self.tasks = PeriodicTasks(Time(self.clock), self.background)
        self.runs = 0
        self.is_failing = False
        self.block: Deferred[None] | None = None

    async def task(self) -> None:
        self.runs += 1
        if self.is_failing:
            raise ValueError("no")
        if self.block is not None:
            await self.block

    def start(self, *, delay_ms: int = 10, period_ms: int = 100) -> None:
        self.tasks.start("work", self.task, delay_ms=delay_ms, period_ms=period_ms)

    def advance_ms(self, amount: int) -> None:
        self.clock.advance(amount / 1000)


def test_a_task_runs_after_its_delay_and_then_with_pauses() -> None:
    periodic = Periodic()
    periodic.start()
    runs = []
    for step in (9, 2, 98, 2, 101):
        periodic.advance_ms(step)
        runs.append(periodic.runs)
    assert runs == [0, 1, 1, 2, 3]


def test_the_pause_begins_when_the_task_has_ended() -> None:
    periodic = Periodic()
    periodic.block = Deferred()
    periodic.start()
    periodic.advance_ms(10)
    periodic.advance_ms(500)
    assert periodic.runs == 1
    periodic.block.callback(None)
    periodic.advance_ms(99)
    assert periodic.runs == 1
    periodic.advance_ms(1)
    assert periodic.runs == 2


def test_a_task_that_fails_is_logged_and_runs_again(logged_failures: FailureObserver) -> None:
    periodic = Periodic()
    periodic.is_failing = True
    periodic.start()
    periodic.advance_ms(10)
    [text] = logged_failures.expect()
    assert "work failed" in text
    periodic.is_failing = False
    periodic.advance_ms(100)
    assert periodic.runs == 2


def test_nothing_runs_after_the_stop() -> None:
    periodic = Periodic()
    periodic.start()
    periodic.tasks.stop()
    periodic.advance_ms(1000)
    assert periodic.runs == 0
    assert not periodic.clock.getDelayedCalls()


def test_a_task_that_runs_at_the_stop_does_not_run_again() -> None:
    periodic = Periodic()
    periodic.block = Deferred()
    periodic.start()
    periodic.advance_ms(10)
    periodic.tasks.stop()
    periodic.background.stop()
    periodic.advance_ms(1000)
    assert periodic.runs == 1
    assert not periodic.clock.getDelayedCalls()


def test_never_is_a_period_too() -> None:
    periodic = Periodic()
    periodic.start(period_ms=2**63 - 1)
    periodic.advance_ms(10)
    assert periodic.runs == 1
    [call] = periodic.clock.getDelayedCalls()
    assert call.getTime() < 2**32
