import threading
from collections.abc import Iterator

import pytest

from kafkalike.utils.blocking import run_blocking_on
from tests.support.loopback import Loopback
from tests.support.run import result_of


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    loopback = Loopback()
    loopback.start_threads()
    yield loopback
    loopback.close()


def test_a_blocking_call_runs_in_another_thread_and_its_result_comes_back(
    loopback: Loopback,
) -> None:
    run_blocking = run_blocking_on(loopback.reactor)
    running = run_blocking(lambda a, b: (a + b, threading.get_ident()), 1, 2)
    loopback.turn_until(lambda: running.called)  # type: ignore[attr-defined]
    total, thread = result_of(running)  # type: ignore[arg-type]
    assert total == 3
    assert thread != threading.get_ident()


def test_what_it_raises_comes_back_too(loopback: Loopback) -> None:
    running = run_blocking_on(loopback.reactor)(int, "x")
    loopback.turn_until(lambda: running.called)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="invalid literal"):
        result_of(running)  # type: ignore[arg-type]
