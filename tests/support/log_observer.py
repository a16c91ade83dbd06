"""Failures that the code under test logged: a test that did not expect them must not pass.

`log.failure` (a traceback) and critical events mean "our bug"; a test that provokes one on purpose
takes it with the `logged_failures` fixture and calls `expect()`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from twisted.logger import ILogObserver, LogEvent, LogLevel, formatEvent, globalLogPublisher


class FailureObserver:
    """Gathers the failures logged while it is installed."""

    def __init__(self) -> None:
        self._events: list[LogEvent] = []

    def __call__(self, event: LogEvent) -> None:
        """Take one event from twisted.logger."""
        if event.get("log_failure") is not None or event.get("log_level") is LogLevel.critical:
            self._events.append(event)

    def install(self) -> None:
        """Begin to listen."""
        # Twisted checks only that it can be called; declaring the interface needs untyped zope.
        globalLogPublisher.addObserver(cast(ILogObserver, self))

    def remove(self) -> None:
        """Stop listening."""
        globalLogPublisher.removeObserver(cast(ILogObserver, self))

    def expect(self, count: int = 1) -> list[str]:
        """Take exactly `count` logged failures and return their texts."""
        assert len(self._events) == count, self.describe()
        taken = [_text(event) for event in self._events]
        self._events.clear()
        return taken

    def assert_none(self) -> None:
        """Fail when something was logged that nobody took."""
        assert not self._events, self.describe()

    def describe(self) -> str:
        """All failures that nobody took, with their tracebacks."""
        texts = "\n".join(map(_text, self._events)) or "none"
        return f"{len(self._events)} failures were logged:\n{texts}"


def _text(event: LogEvent) -> str:
    failure = event.get("log_failure")
    trace = failure.getTraceback() if failure is not None else ""
    return f"[{event.get('log_namespace')}] {formatEvent(event)}\n{trace}".rstrip()


@contextmanager
def observed(namespace: str) -> Iterator[list[str]]:
    """Gather the texts that a logger writes meanwhile."""
    lines: list[str] = []

    def take(event: LogEvent) -> None:
        if event.get("log_namespace") == namespace:
            lines.append(formatEvent(event))

    observer = cast(ILogObserver, take)  # as above
    globalLogPublisher.addObserver(observer)
    try:
        yield lines
    finally:
        globalLogPublisher.removeObserver(observer)
