"""Page events to sessions: a session ends when a user is idle, and is told once."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import (
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from spark_pipeline.schemas import SESSION

_OPEN = StructType(
    [
        StructField("start", TimestampType()),
        StructField("end", TimestampType()),
        StructField("pages", LongType()),
        StructField("first_page", StringType()),
        StructField("last_page", StringType()),
    ]
)
Open = tuple[datetime, datetime, int, str, str]


def grow(session: Open | None, events: list[tuple[datetime, str]]) -> Open | None:
    """Return the session with further events, which may come in any order."""
    for time, page in sorted(events):
        if session is None:
            session = (time, time, 1, page, page)
            continue
        start, end, pages, first, last = session
        if time < start:
            start, first = time, page
        if time >= end:
            end, last = time, page
        session = (start, end, pages + 1, first, last)
    return session


def split_at_gaps(
    session: Open | None, events: list[tuple[datetime, str]], gap_ms: int
) -> tuple[list[Open], Open | None]:
    """Return sessions that a longer pause has ended, and the one that is open."""
    ended: list[Open] = []
    for event in sorted(events):
        if session is not None and (event[0] - session[1]).total_seconds() * 1000 > gap_ms:
            ended.append(session)
            session = None
        session = grow(session, [event])
    return ended, session


class Sessions(StatefulProcessor):
    """Keeps the open session of each user; a timer in event time ends it."""

    def __init__(self, gap_ms: int) -> None:
        self._gap_ms = gap_ms
        self._handle: Any = None
        self._open: Any = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._handle = handle
        self._open = handle.getValueState("open", _OPEN)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """Take new events of a user."""
        events = [(row["event_time"], row["page"]) for row in rows]
        current = self._open.get() if self._open.exists() else None
        ended, session = split_at_gaps(
            None if current is None else tuple(current), events, self._gap_ms
        )
        if session is not None:
            self._open.update(session)
            self._set_timer(session)
        yield from (_row(key[0], done) for done in ended)

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Row]:
        """End a session: its user was idle for as long as the watermark knows."""
        if not self._open.exists():
            return
        session: Any = tuple(self._open.get())
        self._open.clear()
        yield _row(key[0], session)

    def close(self) -> None:
        """Nothing is open but the state, which Spark closes."""

    def _set_timer(self, session: Open) -> None:
        for timer in list(self._handle.listTimers()):
            self._handle.deleteTimer(timer if isinstance(timer, int) else timer[0])
        self._handle.registerTimer(int(session[1].timestamp() * 1000) + self._gap_ms)


def _row(user: str, session: Open) -> Row:
    start, end, pages, first, last = session
    return Row(
        user_id=user,
        session_start=start,
        session_end=end,
        pages=pages,
        first_page=first,
        last_page=last,
    )


def user_sessions(events: DataFrame, gap_minutes: int, watermark: str) -> DataFrame:
    """Return the sessions that are over."""
    grouped: Any = events.withWatermark("event_time", watermark).groupBy("user_id")
    sessions: DataFrame = grouped.transformWithState(
        statefulProcessor=Sessions(gap_minutes * 60_000),
        outputStructType=SESSION,
        outputMode="Append",
        timeMode="EventTime",
    )
    return sessions
