"""A log cleaner for tests: everything at once, on a clock that goes by itself."""

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.log.cleaner_config import CleanerConfig
from kafkalike.log.log import Log
from kafkalike.log.log_cleaner import LogCleaner
from kafkalike.log.log_dir import LogDir
from kafkalike.log.log_pool import LogPool
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.utils.time import Time
from tests.support.log_builder import NOW_MS, a_batch, append, open_log, run_at_once
from tests.support.run import run

KeyValue = tuple[bytes | None, bytes | None]

# Every record rolls a segment or two, and whatever is dirty is cleaned.
COMPACT: dict[str, Any] = {
    "cleanup_policy": ("compact",),
    "segment_bytes": 200,
    "min_cleanable_dirty_ratio": 0.0,
}

UPDATES: list[KeyValue] = [
    (b"a", b"1"),
    (b"b", b"2"),
    (b"a", b"3"),
    (b"c", b"4"),
    (b"b", b"5"),
]
LATEST = [(2, b"a", b"3"), (3, b"c", b"4"), (4, b"b", b"5")]
"""What compaction leaves of them."""


class PassingTime(Time):
    """Time in which nobody has to wait: a sleep is over at once, and the clock is further."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.clock.advance(NOW_MS / 1000)
        super().__init__(self.clock)
        self.slept_ms: list[float] = []

    def sleep_ms(self, delay_ms: float) -> "Deferred[None]":
        self.slept_ms.append(delay_ms)
        self.clock.advance(delay_ms / 1000)
        return succeed(None)


class Cleaning:
    """A cleaner for logs of one log directory; before it goes to a thread it lets a test act."""

    def __init__(self, *logs: Log, **settings: Any) -> None:
        self.time = PassingTime()
        self.failures: list[tuple[Path, str, OSError]] = []
        self.blocking_calls = 0
        self.before_blocking: Callable[[], None] = lambda: None
        self.pool = LogPool()
        for log in logs:
            self.pool.add(log)
        self.cleaner = LogCleaner(
            CleanerConfig.of(BrokerConfig(log_cleaner_enable=False, **settings)),
            self.pool,
            self.time,
            self._run_blocking,
            lambda *failure: self.failures.append(failure),
        )
        self.log_dir = LogDir(logs[0].parent_dir)
        run(self.cleaner.startup([self.log_dir]))
        self.blocking_calls = 0

    def _run_blocking(self, call: Callable[..., Any], *args: Any) -> Awaitable[Any]:
        self.blocking_calls += 1
        self.before_blocking()
        return run_at_once(call, *args)

    def close(self) -> None:
        """Let others have the log directory."""
        run(self.cleaner.shutdown())
        self.log_dir.unlock()

    def clean(self) -> bool:
        """Clean the dirtiest log, if one is dirty enough."""
        return run(self.cleaner.clean_filthiest_log())

    def checkpoint(self) -> dict[TopicPartition, int]:
        """Return what `cleaner-offset-checkpoint` says."""
        return self.log_dir.cleaner_offsets.read()


def clean(*logs: Log, **settings: Any) -> None:
    """Clean logs once each, as a broker does that has just started."""
    cleaning = Cleaning(*logs, **settings)
    for _ in logs:
        cleaning.clean()
    cleaning.close()


def a_compacted_log(directory: Path, *pairs: KeyValue, **settings: Any) -> Log:
    """Return a log with a batch for each pair of key and value, all of it in closed segments."""
    log = open_log(directory / "orders-0", **{**COMPACT, **settings})
    put(log, *pairs)
    if pairs:
        log.roll(NOW_MS)
    return log


def put(log: Log, *pairs: KeyValue, timestamp: int = NOW_MS) -> None:
    """Append a batch for each pair of key and value."""
    for key, value in pairs:
        append(log, a_batch([value], keys=[key], timestamp=timestamp))


def pairs_of(records: Sequence[Any]) -> list[tuple[int, bytes | None, bytes | None]]:
    """Return offset, key and value of records."""
    return [(record.offset, record.key, record.value) for record in records]


def append_in_transaction(log: Log, producer_id: int, key: bytes, sequence: int = 0) -> None:
    """Append a record of a transaction that is still open."""
    options = {"producer_id": producer_id, "base_sequence": sequence, "is_transactional": True}
    append(log, a_batch(keys=[key], **options))


def modify(log: Log, at_ms: int) -> None:
    """Say that all closed segments were written at a time."""
    for segment in list(log.segments)[:-1]:
        os.utime(segment.log.path, ns=(at_ms * 10**6, at_ms * 10**6))


def files_of(log: Log, *suffixes: str) -> set[str]:
    """Return the names of a log's files that end so."""
    return {path.name for path in log.directory.iterdir() if path.suffix in suffixes}
