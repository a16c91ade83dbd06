"""The process of a broker: reactor, log lines, signals and the exit code."""

import contextlib
import gc
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any, Final, Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import CannotListenError
from twisted.logger import Logger

from kafkalike.cli.log_lines import start_logging
from kafkalike.config.broker_config import BrokerConfig
from kafkalike.log.errors import LogDirLockedError
from kafkalike.protocol.errors import KafkaError
from kafkalike.server.errors import StartupError
from kafkalike.utils.heap import keep_heap_small
from kafkalike.zk.errors import ZkError

log = Logger()

# What a user can mend, so one line tells it; anything else is our bug and has a traceback.
_USER_ERRORS = (StartupError, KafkaError, ZkError, CannotListenError, LogDirLockedError, OSError)

_SAME_SIGNAL_S: Final = 0.3


class Server(Protocol):
    """What is run: a `KafkaServer`."""

    async def startup(self) -> None:
        """Serve; on failure an exception that says why."""

    async def shutdown(self) -> None:
        """Stop in order; also after a failed or an interrupted start."""

    def hurry(self) -> None:
        """Do not wait for others any more while stopping."""


class BrokerProcess:
    """Starts a server when the reactor runs and stops it before the reactor ends."""

    def __init__(
        self,
        reactor: Any,  # no one interface has it all
        make_server: Callable[[Callable[[str], None]], Server],
        *,
        on_signal: Callable[[Callable[[], None]], None],
    ) -> None:
        self.exit_code = 0
        self._on_signal = on_signal
        self._reactor = reactor
        self._is_stopping = False
        self._signalled_at = 0.0
        self._starting: Deferred[None] | None = None
        self._server = make_server(self._fatal)

    def run(self) -> int:
        """Run to the end, which SIGTERM, SIGINT or a failed start brings."""
        keep_heap_small()
        self._reactor.callWhenRunning(self._start)
        self._reactor.addSystemEventTrigger("before", "shutdown", self._stop)
        self._reactor.run()
        return self.exit_code

    def _start(self) -> None:
        self._on_signal(self._signalled)
        self._starting = Deferred.fromCoroutine(self._startup())

    async def _startup(self) -> None:
        try:
            await self._server.startup()
        except CancelledError:
            return
        except _USER_ERRORS as error:
            _log_refusal(error)
        except Exception:  # noqa: BLE001 (the process ends, whatever it was)
            log.failure("the broker cannot start")
        else:
            # What has been made by now lives as long as the broker: the collector may skip it.
            gc.freeze()
            return
        self._fail()

    def _signalled(self) -> None:
        self._reactor.callLater(0, self._stop_or_hurry)  # not from within a signal handler

    def _stop_or_hurry(self) -> None:
        now = self._reactor.seconds()
        if not self._is_stopping:
            self._signalled_at = now
            self._stop_reactor()
        # One signal to the whole process group comes twice: our supervisor hands its own on.
        elif now >= self._signalled_at + _SAME_SIGNAL_S:
            self._server.hurry()

    def _fatal(self, why: str) -> None:
        """End the process: the server cannot go on."""
        log.error("the broker stops: {why}", why=why)
        self._fail()

    def _fail(self) -> None:
        self.exit_code = 1
        self._stop_reactor()

    def _stop_reactor(self) -> None:
        if not self._is_stopping:
            self._is_stopping = True  # the reactor complains when it is stopped twice
            self._reactor.stop()

    def _stop(self) -> "Deferred[None]":
        self._is_stopping = True
        return Deferred.fromCoroutine(self._shutdown())

    async def _shutdown(self) -> None:
        if self._starting is not None:
            self._starting.cancel()
        try:
            await self._server.shutdown()
        except Exception:  # noqa: BLE001 (the process ends, whatever it was)
            log.failure("the broker did not stop in order")
            self.exit_code = 1


def _log_refusal(error: Exception) -> None:
    log.error("the broker cannot start: {error}", error=error)


def _on_signal(stop: Callable[[], None]) -> None:
    """Call `stop` at each signal that asks for the end; one that is ignored stays so (nohup)."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: stop())


def run_broker(config: BrokerConfig, log_level: str) -> int:
    """Run a broker to its end and return the exit code of the process."""
    from twisted.internet import reactor  # noqa: TID251 (imported, it is installed: only here)

    from kafkalike.server.broker_loggers import ROOT_LOGGER, BrokerLoggers
    from kafkalike.server.kafka_server import KafkaServer

    _raise_file_limit()
    loggers = BrokerLoggers()
    loggers.set_level(ROOT_LOGGER, log_level.upper())
    start_logging(sys.stdout, loggers.predicate)

    def make_server(on_fatal: Callable[[str], None]) -> KafkaServer:
        return KafkaServer(reactor, config, loggers, on_fatal)

    return BrokerProcess(reactor, make_server, on_signal=_on_signal).run()


def _raise_file_limit() -> None:
    """Allow as many open files as the system lets us: every segment is one, every client too."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # What the hard limit allows may still be more than the kernel gives.
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
