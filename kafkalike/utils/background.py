"""Coroutines that nobody awaits: each has an owner that cancels it, and a failure is logged."""

from collections.abc import Coroutine
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectingCancelledError
from twisted.logger import Logger
from twisted.python.failure import Failure

log = Logger()


class Background:
    """The running coroutines of one owner; `stop()` cancels what is left of them."""

    def __init__(self) -> None:
        self._running: set[Deferred[Any]] = set()
        self._stopped = False

    def start(self, coroutine: Coroutine[Any, Any, Any], what: str) -> None:
        """Run a coroutine to its end; `what` names it in the log should it fail."""
        if self._stopped:
            coroutine.close()
            return
        running = Deferred.fromCoroutine(coroutine)
        if running.called and not isinstance(running.result, Failure):
            return
        self._running.add(running)

        def done(result: object) -> None:
            self._running.discard(running)
            # Cancelling a connection attempt fails with an error of its own.
            if isinstance(result, Failure) and not isinstance(
                result.value, CancelledError | ConnectingCancelledError
            ):
                log.failure("{what} failed", failure=result, what=what)

        running.addBoth(done)

    def stop(self) -> None:
        """Cancel everything that still runs, and start nothing more."""
        self._stopped = True
        for running in list(self._running):
            running.cancel()
