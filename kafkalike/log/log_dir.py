"""One of the broker's log directories: its lock, its checkpoints, its clean-shutdown marker."""

import fcntl
import os
from pathlib import Path

from twisted.logger import Logger

from kafkalike.log.checkpoint import (
    CLEANER_OFFSET_CHECKPOINT_FILE,
    HIGH_WATERMARK_CHECKPOINT_FILE,
    LOG_START_OFFSET_CHECKPOINT_FILE,
    RECOVERY_POINT_CHECKPOINT_FILE,
    OffsetCheckpointFile,
    fsync_directory,
)
from kafkalike.log.errors import LogDirLockedError
from kafkalike.log.log_file_names import CLEAN_SHUTDOWN_FILE
from kafkalike.model.topic_partition import TopicPartition

logger = Logger()

LOCK_FILE = ".lock"


class LogDir:
    """A directory of `log.dirs` that this broker has for itself until `unlock`.

    Opening one that another broker holds, of ours or of Java's, raises `LogDirLockedError`; one
    that cannot be used raises `OSError`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recovery_points = OffsetCheckpointFile(path / RECOVERY_POINT_CHECKPOINT_FILE)
        self.log_start_offsets = OffsetCheckpointFile(path / LOG_START_OFFSET_CHECKPOINT_FILE)
        self.high_watermarks = OffsetCheckpointFile(path / HIGH_WATERMARK_CHECKPOINT_FILE)
        self.cleaner_offsets = OffsetCheckpointFile(path / CLEANER_OFFSET_CHECKPOINT_FILE)
        path.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            # Java takes the one kind, which does not exclude another user in the same process.
            fcntl.lockf(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.unlock()
            raise LogDirLockedError(
                f"Failed to acquire lock on file {LOCK_FILE} in {path}. A Kafka instance in "
                "another process or thread is using this directory."
            ) from None
        except OSError:
            self.unlock()
            raise

    def __repr__(self) -> str:
        return f"LogDir({self.path})"

    def unlock(self) -> None:
        """Let others use the directory."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def take_clean_shutdown_marker(self) -> bool:
        """Whether the last shutdown was clean; the next one is not until the marker is written."""
        marker = self.path / CLEAN_SHUTDOWN_FILE
        try:
            marker.unlink()
        except FileNotFoundError:
            return False
        return True

    def write_clean_shutdown_marker(self) -> None:
        """Say that all logs in here are closed."""
        (self.path / CLEAN_SHUTDOWN_FILE).touch()
        fsync_directory(self.path)

    def log_directories(self) -> list[Path]:
        """Return the directories of all logs in here."""
        return sorted(entry for entry in self.path.iterdir() if entry.is_dir())

    @staticmethod
    def read_or_forget(checkpoint: OffsetCheckpointFile) -> dict[TopicPartition, int]:
        """Return the offsets of a checkpoint; without a good one logs are recovered as a whole."""
        try:
            return checkpoint.read()
        except OSError as error:
            logger.warn(
                "Error occurred while reading {path}, going on without it: {error}",
                path=checkpoint.path,
                error=error,
            )
            return {}
