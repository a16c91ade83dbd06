from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from kafkalike.cli.broker_process import BrokerProcess
from kafkalike.config.errors import ConfigError
from kafkalike.zk.errors import ZkTimeoutError
from tests.support.log_observer import FailureObserver


class FakeReactor:
    """Runs what is to be run when running, then what is to be done before the shutdown."""

    def __init__(self, while_running: Callable[[], None]) -> None:
        self._while_running = while_running
        self._at_start: list[Callable[[], Any]] = []
        self._before_shutdown: list[Callable[[], Any]] = []
        self.stopped = False
        self.waited_for: list[Any] = []
        self.now = 0.0

    def callWhenRunning(self, call: Callable[[], Any]) -> None:  # noqa: N802, RUF100
        self._at_start.append(call)

    def addSystemEventTrigger(  # noqa: N802, RUF100
        self, phase: str, event: str, call: Callable[[], Any]
    ) -> None:
        assert (phase, event) == ("before", "shutdown")
        self._before_shutdown.append(call)

    def callLater(self, delay: float, call: Callable[[], Any]) -> None:  # noqa: N802, RUF100
        assert delay == 0
        call()

    def seconds(self) -> float:
        return self.now

    def run(self) -> None:
        for call in self._at_start:
            call()
        if not self.stopped:
            self._while_running()
        self.waited_for = [call() for call in self._before_shutdown]

    def stop(self) -> None:
        assert not self.stopped, "Twisted's reactor complains about this too"
        self.stopped = True


class FakeServer:
    """Notes what is asked of it, and fails where told."""

    on_fatal: Callable[[str], None]

    def __init__(self, *, startup: object = None, shutdown: object = None) -> None:
        self.calls: list[str] = []
        self._startup = startup
        self._shutdown = shutdown

    async def startup(self) -> None:
        self.calls.append("startup")
        await _do(self._startup)
        self.calls.append("started")

    async def shutdown(self) -> None:
        self.calls.append("shutdown")
        await _do(self._shutdown)
        self.calls.append("stopped")

    def hurry(self) -> None:
        self.calls.append("hurry")


async def _do(what: object) -> None:
    if isinstance(what, Exception):
        raise what
    if isinstance(what, Deferred):
        await what
    elif callable(what):
        what()


class Signals:
    """Sends signals to the process, at times."""

    def __init__(self, *seconds: float) -> None:
        self._seconds = seconds
        self._stop: Callable[[], None] = lambda: None

    def on_signal(self, stop: Callable[[], None]) -> None:
        self._stop = stop

    def send(self, reactor: FakeReactor) -> None:
        for seconds in self._seconds:
            reactor.now = seconds
            self._stop()


def _run(server: FakeServer, signals: Signals | None = None) -> tuple[int, FakeReactor]:
    sender = signals or Signals(0.0)

    def while_running() -> None:
        server.calls.append("signal")
        sender.send(reactor)

    reactor = FakeReactor(while_running)

    def make_server(on_fatal: Callable[[str], None]) -> FakeServer:
        server.on_fatal = on_fatal
        return server

    return BrokerProcess(reactor, make_server, on_signal=sender.on_signal).run(), reactor


def test_signal_stops_the_server_in_order_with_exit_code_0() -> None:
    server = FakeServer()
    exit_code, reactor = _run(server)
    assert exit_code == 0
    assert reactor.stopped
    assert server.calls == ["startup", "started", "signal", "shutdown", "stopped"]


def test_same_signal_from_two_sides_is_one() -> None:
    server = FakeServer()
    assert _run(server, Signals(0.0, 0.1))[0] == 0
    assert "hurry" not in server.calls


def test_second_signal_makes_the_server_hurry() -> None:
    server = FakeServer()
    assert _run(server, Signals(0.0, 1.0))[0] == 0
    assert "hurry" in server.calls


@pytest.mark.parametrize(
    "error",
    [ConfigError("wrong cluster id"), ZkTimeoutError("no ZooKeeper"), OSError("disk gone")],
)
def test_refusal_to_start_is_told_in_a_line_and_ends_with_exit_code_1(error: Exception) -> None:
    server = FakeServer(startup=error)
    exit_code, reactor = _run(server)
    assert exit_code == 1
    assert reactor.stopped
    assert server.calls == ["startup", "shutdown", "stopped"]


def test_bug_at_start_is_told_with_its_traceback(logged_failures: FailureObserver) -> None:
    exit_code, _ = _run(FakeServer(startup=ZeroDivisionError("oops")))
    assert exit_code == 1
    assert "ZeroDivisionError: oops" in logged_failures.expect()[0]


def test_signal_during_the_start_cancels_it() -> None:
    server = FakeServer(startup=Deferred())
    exit_code, _ = _run(server)
    assert exit_code == 0
    assert server.calls == ["startup", "signal", "shutdown", "stopped"]


def test_fatal_error_stops_the_server_with_exit_code_1() -> None:
    server: FakeServer = FakeServer(startup=lambda: server.on_fatal("all disks failed"))
    exit_code, reactor = _run(server)
    assert exit_code == 1
    assert reactor.stopped
    assert server.calls[-1] == "stopped"


def test_fatal_error_while_stopping_changes_only_the_exit_code() -> None:
    server: FakeServer = FakeServer(shutdown=lambda: server.on_fatal("all disks failed"))
    exit_code, _ = _run(server)
    assert exit_code == 1
    assert server.calls[-1] == "stopped"


def test_reactor_waits_for_the_stop() -> None:
    stopping: Deferred[None] = Deferred()
    server = FakeServer(shutdown=stopping)
    _, reactor = _run(server)
    (waited_for,) = reactor.waited_for
    assert not waited_for.called
    stopping.callback(None)
    assert waited_for.called
    assert server.calls[-1] == "stopped"


def test_failed_stop_ends_with_exit_code_1(logged_failures: FailureObserver) -> None:
    exit_code, _ = _run(FakeServer(shutdown=ZeroDivisionError("stuck")))
    assert exit_code == 1
    assert "did not stop in order" in logged_failures.expect()[0]
