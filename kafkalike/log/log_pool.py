"""The logs of a broker by partition and by log directory: current ones and future ones.

A future log is one that is moving in from another directory, to replace the current one.
"""

from pathlib import Path

from kafkalike.log.log import Log
from kafkalike.model.topic_partition import TopicPartition


class LogPool:
    """Which logs there are; at most one current and one future log of each partition."""

    def __init__(self) -> None:
        self._current: dict[TopicPartition, Log] = {}
        self._future: dict[TopicPartition, Log] = {}
        self._by_dir: dict[Path, dict[Log, None]] = {}

    @property
    def all(self) -> list[Log]:
        """All logs."""
        return [*self._current.values(), *self._future.values()]

    @property
    def current(self) -> list[Log]:
        """All logs but the future ones."""
        return list(self._current.values())

    def get(self, tp: TopicPartition, *, is_future: bool = False) -> Log | None:
        """Return the log of a partition, if there is one."""
        return (self._future if is_future else self._current).get(tp)

    def in_dir(self, path: Path) -> list[Log]:
        """Return all logs of a directory."""
        return list(self._by_dir.get(path, ()))

    def count_in_dir(self, path: Path) -> int:
        """Return how many logs a directory has."""
        return len(self._by_dir.get(path, ()))

    def add(self, log: Log) -> None:
        """Add a log, as its directory's name says; there must be none of its partition yet."""
        logs = self._future if log.is_future else self._current
        previous = logs.setdefault(log.tp, log)
        if previous is not log:
            raise ValueError(
                f"Duplicate log directories for {log.tp} are found in both {log.directory} and "
                f"{previous.directory}. It is likely because log directory failure happened while "
                "broker was replacing current replica with future replica. Recover broker from "
                "this failure by manually deleting one of the two directories for this partition. "
                "It is recommended to delete the partition in the log directory that is known to "
                "have failed recently."
            )
        self._by_dir.setdefault(log.parent_dir, {})[log] = None

    def remove(self, tp: TopicPartition, *, is_future: bool = False) -> Log | None:
        """Remove the log of a partition and return it."""
        log = (self._future if is_future else self._current).pop(tp, None)
        if log is not None:
            del self._by_dir[log.parent_dir][log]
        return log

    def remove_dir(self, path: Path) -> list[Log]:
        """Remove all logs of a directory and return them."""
        removed = self._by_dir.pop(path, {})
        for logs in (self._current, self._future):
            for tp in [tp for tp, log in logs.items() if log in removed]:
                del logs[tp]
        return list(removed)

    def clear(self) -> None:
        """Forget all."""
        self._current.clear()
        self._future.clear()
        self._by_dir.clear()
