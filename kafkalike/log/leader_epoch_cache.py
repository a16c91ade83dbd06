"""Which leader epoch began at which offset: what tells a follower where it diverged (KIP-101).

Kafka's `LeaderEpochFileCache`. Kept in `leader-epoch-checkpoint`, which is written at each change.
What is not on the disk when the machine crashes is found again in the batches (`log_loader`).
"""

import os
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from kafkalike.log.checkpoint import LEADER_EPOCH_CHECKPOINT_FILE, read_lines, write_lines
from kafkalike.log.local_log import LocalLog
from kafkalike.protocol.records.record_batch import MAGIC_V2

UNDEFINED_EPOCH = -1
UNDEFINED_EPOCH_OFFSET = -1


class EpochEntry(NamedTuple):
    """The first offset of an epoch."""

    epoch: int
    start_offset: int


class LeaderEpochCache:
    """The epochs of one log in order; epochs and offsets both grow."""

    def __init__(self, directory: Path, log_end_offset: Callable[[], int]) -> None:
        self._path = directory / LEADER_EPOCH_CHECKPOINT_FILE
        self._log_end_offset = log_end_offset
        self._entries: list[EpochEntry] = []
        self._is_synced = True
        if not self._path.exists():
            self._path.touch()
        for epoch, start_offset in read_lines(self._path, 2):
            self._assign(EpochEntry(int(epoch), int(start_offset)))

    @property
    def entries(self) -> list[EpochEntry]:
        """All entries, oldest first."""
        return list(self._entries)

    @property
    def latest_epoch(self) -> int | None:
        """The epoch of the last entry."""
        return self._entries[-1].epoch if self._entries else None

    @property
    def previous_epoch(self) -> int | None:
        """The epoch before the latest."""
        return self._entries[-2].epoch if len(self._entries) > 1 else None

    @property
    def earliest_entry(self) -> EpochEntry | None:
        """The first entry."""
        return self._entries[0] if self._entries else None

    def assign(self, epoch: int, start_offset: int) -> None:
        """Note that an epoch began at an offset; what contradicts it is forgotten."""
        entries = self._entries
        # The usual append: nothing new about the epoch.
        if entries and entries[-1].epoch == epoch and entries[-1].start_offset <= start_offset:
            return
        if self._assign(EpochEntry(epoch, start_offset)):
            self.flush()

    def _assign(self, entry: EpochEntry) -> bool:
        if entry.epoch < 0 or entry.start_offset < 0:
            raise ValueError(f"Received invalid partition leader epoch entry {entry}")
        entries = self._entries
        if entries:
            last = entries[-1]
            if entry.epoch == last.epoch and entry.start_offset >= last.start_offset:
                return False
        while entries and (
            entries[-1].epoch >= entry.epoch or entries[-1].start_offset >= entry.start_offset
        ):
            entries.pop()
        entries.append(entry)
        return True

    def end_offset_for(self, requested_epoch: int) -> EpochEntry:
        """Return the largest epoch at or below the requested one, and the offset where it ends.

        Undefined (-1, -1) for an epoch that is newer than all known ones. For one older than all,
        the requested epoch itself is given back with the first offset known.
        """
        undefined = EpochEntry(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET)
        if requested_epoch == UNDEFINED_EPOCH:
            return undefined
        if requested_epoch == self.latest_epoch:
            return EpochEntry(requested_epoch, self._log_end_offset())
        higher = bisect_right(self._entries, requested_epoch, key=lambda entry: entry.epoch)
        if higher == len(self._entries):
            return undefined
        end_offset = self._entries[higher].start_offset
        if higher == 0:
            return EpochEntry(requested_epoch, end_offset)
        return EpochEntry(self._entries[higher - 1].epoch, end_offset)

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget the epochs that began at or after an offset."""
        entries = self._entries
        if end_offset >= 0 and entries and entries[-1].start_offset >= end_offset:
            while entries and entries[-1].start_offset >= end_offset:
                entries.pop()
            self.flush()

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget the epochs before an offset; the one it lies in begins there from now on."""
        count = bisect_right(self._entries, start_offset, key=lambda entry: entry.start_offset)
        if count:
            first = EpochEntry(self._entries[count - 1].epoch, start_offset)
            if count == 1 and first == self._entries[0]:
                return
            self._entries[:count] = [first]
            self.flush()

    def clear(self) -> None:
        """Forget everything, the file left as it is."""
        self._entries.clear()

    def clear_and_flush(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self.flush()

    def flush(self) -> None:
        """Write the file, not forced to the disk: that comes with the flush of the log."""
        lines = (f"{entry.epoch} {entry.start_offset}" for entry in self._entries)
        write_lines(self._path, lines, is_synced=False)
        self._is_synced = False

    def open_for_flush(self) -> int | None:
        """Return a descriptor for an fsync in a thread, None if the file did not change.

        The caller closes it. A file that could not be synced is of a disk that is offline then.
        """
        if self._is_synced:
            return None
        descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        self._is_synced = True
        return descriptor

    def update_parent_dir(self, directory: Path) -> None:
        """Follow the log to its renamed directory."""
        self._path = directory / LEADER_EPOCH_CHECKPOINT_FILE


def open_leader_epoch_cache(local_log: LocalLog) -> LeaderEpochCache | None:
    """Return the epochs of a log; message formats before v2 have none, and lose their file."""
    directory = local_log.directory
    if local_log.config.record_version >= MAGIC_V2:
        return LeaderEpochCache(directory, lambda: local_log.log_end_offset)
    (directory / LEADER_EPOCH_CHECKPOINT_FILE).unlink(missing_ok=True)
    return None
