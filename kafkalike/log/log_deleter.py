"""Delete files and whole logs a while after nobody needs them, away from the reactor.

Part of Kafka's `LogManager` (`kafka-delete-logs`) and of its scheduler (`delete-file`). What is
still waiting when the broker stops has its suffix in its name, and goes at the next start.
"""

from collections.abc import Callable
from pathlib import Path

from twisted.logger import Logger

from kafkalike.log.log import Log
from kafkalike.utils.background import Background
from kafkalike.utils.blocking import RunBlocking
from kafkalike.utils.time import Time, Timer

logger = Logger()


class LogDeleter:
    """Deletions to come; an error takes the log directory offline by `report_failure`."""

    def __init__(
        self,
        time: Time,
        run_blocking: RunBlocking,
        background: Background,
        report_failure: Callable[[Path, str, OSError], None],
    ) -> None:
        self._time = time
        self._run_blocking = run_blocking
        self._background = background
        self._report_failure = report_failure
        self._waiting: dict[int, Timer] = {}
        self._next_number = 0

    def delete_later(self, log_dir: Path, delay_ms: int, delete: Callable[[], None]) -> None:
        """Run a deletion in a thread after a delay."""
        number = self._next_number
        self._next_number += 1

        def begin() -> None:
            del self._waiting[number]
            self._background.start(self._delete(log_dir, delete), "deletion")

        self._waiting[number] = self._time.call_later_ms(delay_ms, begin)

    def delete_log_later(self, log: Log, delay_ms: int) -> None:
        """Delete a log with its directory after a delay."""

        def delete() -> None:
            log.delete()
            logger.info(
                "Deleted log for partition {tp} in {directory}.", tp=log.tp, directory=log.directory
            )

        self.delete_later(log.parent_dir, delay_ms, delete)

    async def _delete(self, log_dir: Path, delete: Callable[[], None]) -> None:
        try:
            await self._run_blocking(delete)
        except OSError as error:
            self._report_failure(log_dir, f"Error while deleting files in dir {log_dir}", error)

    def stop(self) -> None:
        """Leave what is waiting to the next start."""
        for timer in self._waiting.values():
            timer.cancel()
        self._waiting.clear()
