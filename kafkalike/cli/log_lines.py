"""What a broker says, as lines like those of Kafka's log4j: `[time] LEVEL text (namespace)`."""

import time
from typing import Final, TextIO, cast

from twisted.logger import (
    FileLogObserver,
    FilteringLogObserver,
    ILogFilterPredicate,
    ILogObserver,
    LogEvent,
    LogLevel,
    LogLevelFilterPredicate,
    formatEvent,
    globalLogBeginner,
)

# Twisted's own tales (a factory starts, the main loop ends) tell a Kafka user nothing.
_QUIET_NAMESPACES: Final = ("twisted", "log_legacy")

# log4j has no name for Twisted's highest level, which is that of every logged failure.
_NAMES: Final = {"critical": "ERROR"}


def start_logging(stream: TextIO, levels: LogLevelFilterPredicate) -> None:
    """Write the events that the levels let through to the stream from now on."""
    quiet = LogLevelFilterPredicate(defaultLogLevel=LogLevel.debug)
    for namespace in _QUIET_NAMESPACES:
        quiet.setLogLevelForNamespace(namespace, LogLevel.warn)
    # The casts: Twisted's classes declare these interfaces to zope, which mypy does not see.
    lines = cast(ILogObserver, FileLogObserver(stream, log_line))
    predicates = [cast(ILogFilterPredicate, predicate) for predicate in (quiet, levels)]
    observer = FilteringLogObserver(lines, predicates)
    # What was printed must not become a log event: standard output is where the events go.
    globalLogBeginner.beginLoggingTo([cast(ILogObserver, observer)], redirectStandardIO=False)


def log_line(event: LogEvent) -> str | None:
    """Write one event, with the traceback of a failure below it; None if it has no text."""
    text = formatEvent(event)
    failure = event.get("log_failure")
    if failure is not None:
        text = f"{text}\n{failure.getTraceback()}".strip()
    if not text:
        return None
    head, newline, rest = text.partition("\n")
    level = event["log_level"].name if "log_level" in event else "info"
    shown_level = _NAMES.get(level, level.upper())
    namespace = event.get("log_namespace", "-")
    return f"[{_shown_time(event)}] {shown_level} {head} ({namespace}){newline}{rest}\n"


def _shown_time(event: LogEvent) -> str:
    seconds = event.get("log_time", 0.0)
    whole, milliseconds = divmod(int(seconds * 1000), 1000)
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(whole))},{milliseconds:03d}"
