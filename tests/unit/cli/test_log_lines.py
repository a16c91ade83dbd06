import re
import time
from typing import Any

from twisted.logger import LogLevel
from twisted.python.failure import Failure

from kafkalike.cli.log_lines import log_line

WHEN = time.mktime((2026, 11, 18, 15, 5, 1, 0, 0, -1)) + 0.1234


def _event(**fields: object) -> dict[str, object]:
    return {
        "log_time": WHEN,
        "log_level": LogLevel.info,
        "log_namespace": "kafkalike.server.kafka_server",
        "log_format": "broker {id} started",
        "id": 101,
    } | fields


def test_line_is_kafkas() -> None:
    assert log_line(_event()) == (
        "[2026-11-18 15:05:01,123] INFO broker 101 started (kafkalike.server.kafka_server)\n"
    )


def test_levels_have_log4j_names() -> None:
    names = [
        (log_line(_event(log_level=level)) or "").split()[2] for level in LogLevel.iterconstants()
    ]
    assert names == ["DEBUG", "INFO", "WARN", "ERROR", "ERROR"]


def test_failure_has_its_traceback_below_the_line() -> None:
    failure: Any = Failure  # Twisted has no types for it
    try:
        raise ValueError("boom")
    except ValueError:
        line = log_line(_event(log_failure=failure(), log_level=LogLevel.critical)) or ""
    head, *rest = line.splitlines()
    assert re.fullmatch(r"\[.*\] ERROR broker 101 started \(kafkalike\..*\)", head)
    assert rest[-1].endswith("ValueError: boom")


def test_event_without_text_is_no_line() -> None:
    assert log_line(_event(log_format="")) is None
