import pytest
from twisted.internet.defer import CancelledError
from twisted.internet.task import Clock

from kafkalike.utils.time import Time
from tests.support.run import result_of


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_now_is_the_clocks_seconds_in_milliseconds(clock: Clock) -> None:
    clock.advance(1700000000.1234)
    assert Time(clock).now_ms() == 1700000000123


def test_a_call_comes_after_its_delay_once(clock: Clock) -> None:
    called: list[str] = []
    timer = Time(clock).call_later_ms(1500, called.append, "x")
    assert timer.active()
    clock.advance(1.499)
    assert called == []
    clock.advance(0.001)
    assert called == ["x"]
    clock.advance(10)
    assert called == ["x"]
    assert not timer.active()


def test_a_cancelled_call_does_not_come(clock: Clock) -> None:
    called: list[str] = []
    Time(clock).call_later_ms(5, called.append, "x").cancel()
    clock.advance(1)
    assert called == []


def test_a_delay_in_the_past_is_now(clock: Clock) -> None:
    called: list[str] = []
    Time(clock).call_later_ms(-100, called.append, "x")
    [call] = clock.getDelayedCalls()
    assert call.getTime() == clock.seconds()
    clock.advance(0)
    assert called == ["x"]


def test_sleep_wakes_after_its_time(clock: Clock) -> None:
    slept = Time(clock).sleep_ms(20)
    clock.advance(0.019)
    assert not slept.called
    clock.advance(0.001)
    assert result_of(slept) is None


def test_a_cancelled_sleep_leaves_no_timer(clock: Clock) -> None:
    slept = Time(clock).sleep_ms(20)
    slept.cancel()
    with pytest.raises(CancelledError):
        result_of(slept)
    assert not clock.getDelayedCalls()
