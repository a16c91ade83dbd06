"""What a log needs from the world around it, given as callables: timers, threads, failures."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Protocol

_SEVEN_DAYS_MS = 7 * 24 * 3600 * 1000


class FlushJob(Protocol):
    """A flush in two steps: the fsyncs, which block, and then the new recovery point."""

    def run(self) -> None:
        """Force the files to the disk; touches no state of the log, so a thread may run it."""

    def complete(self, now_ms: int) -> None:
        """Note in the log what is on the disk now."""

    def fail(self, error: OSError) -> Exception:
        """Tell the log that `run` failed; return what is to be raised."""


def _delete_at_once(_log_dir: Path, _delay_ms: int, delete: Callable[[], None]) -> None:
    delete()


def _flush_at_once(job: FlushJob) -> None:
    try:
        job.run()
    except OSError as error:
        raise job.fail(error) from error
    job.complete(0)


def _ignore_failure(_log_dir: Path, _message: str, _error: OSError) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEnvironment:
    """Shared by all logs of a broker; the defaults do everything at once, as tests and tools like.

    - `delete_later(log_dir, delay_ms, delete)`: unlink files after a delay, away from the reactor;
      an `OSError` from it is a failure of the log directory.
    - `flush_later(job)`: run a flush away from the reactor, soon.
    - `on_storage_failure(log_dir, message, error)`: a disk failed; the log directory is to go
      offline. Called before `KafkaStorageError` is raised, where the log lives, from no thread.
    """

    delete_later: Callable[[Path, int, Callable[[], None]], None] = _delete_at_once
    flush_later: Callable[[FlushJob], None] = _flush_at_once
    on_storage_failure: Callable[[Path, str, OSError], None] = _ignore_failure
    max_producer_id_expiration_ms: int = _SEVEN_DAYS_MS
    random: Random = field(default_factory=lambda: Random(os.urandom(16)))
