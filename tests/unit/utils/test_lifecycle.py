from twisted.internet.defer import Deferred

from kafkalike.utils.lifecycle import Lifecycle
from tests.support.log_observer import FailureObserver
from tests.support.run import result_of, run, start


def test_parts_are_stopped_in_reverse_each_before_the_next() -> None:
    lifecycle = Lifecycle()
    stopped: list[str] = []
    last: Deferred[None] = Deferred()
    lifecycle.on_stop("first", lambda: stopped.append("first"))
    lifecycle.on_stop("second", lambda: stopped.append("second"))
    lifecycle.on_stop("last", lambda: last)
    stopping = start(lifecycle.stop())
    assert stopped == []
    last.callback(None)
    assert stopped == ["second", "first"]
    result_of(stopping)


def test_a_part_that_fails_to_stop_does_not_keep_the_others_up(
    logged_failures: FailureObserver,
) -> None:
    lifecycle = Lifecycle()
    stopped: list[str] = []

    def fail() -> None:
        raise ValueError("stuck")

    lifecycle.on_stop("first", lambda: stopped.append("first"))
    lifecycle.on_stop("the log", fail)
    run(lifecycle.stop())
    assert stopped == ["first"]
    [text] = logged_failures.expect()
    assert "stopping the log failed" in text


def test_stopping_twice_stops_each_part_once() -> None:
    lifecycle = Lifecycle()
    stopped: list[str] = []
    lifecycle.on_stop("part", lambda: stopped.append("part"))
    run(lifecycle.stop())
    run(lifecycle.stop())
    assert stopped == ["part"]
