"""Checkpoint files: a version, a count and one line per entry, replaced whole and atomically.

`recovery-point-offset-checkpoint`, `replication-offset-checkpoint`, `log-start-offset-checkpoint`
and `cleaner-offset-checkpoint` hold lines of topic, partition and offset;
`leader-epoch-checkpoint` holds epochs and start offsets.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from kafkalike.model.topic_partition import TopicPartition

RECOVERY_POINT_CHECKPOINT_FILE = "recovery-point-offset-checkpoint"
HIGH_WATERMARK_CHECKPOINT_FILE = "replication-offset-checkpoint"
LOG_START_OFFSET_CHECKPOINT_FILE = "log-start-offset-checkpoint"
CLEANER_OFFSET_CHECKPOINT_FILE = "cleaner-offset-checkpoint"
LEADER_EPOCH_CHECKPOINT_FILE = "leader-epoch-checkpoint"

_VERSION = "0"


def write_atomically(path: Path, text: str, *, is_synced: bool = True) -> None:
    """Replace a file so that a crash leaves the old or the new content, and never half of it.

    Without `is_synced` this holds for a crash of the process only, and nothing blocks: for files
    that are written between requests and can be made again from the log.
    """
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as file:
        file.write(text.encode())
        file.flush()
        if is_synced:
            os.fsync(file.fileno())
    temporary.replace(path)
    if is_synced:
        fsync_directory(path.parent)


def fsync_directory(directory: Path) -> None:
    """Force the names in a directory to the disk."""
    fd = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_lines(path: Path, lines: Iterable[str], *, is_synced: bool = True) -> None:
    """Write a checkpoint file."""
    entries = list(lines)
    text = "\n".join([_VERSION, str(len(entries)), *entries, ""])
    write_atomically(path, text, is_synced=is_synced)


def read_lines(path: Path, fields: int) -> list[list[str]]:
    """Return the entries of a checkpoint file, split into `fields`; no file means no entries.

    What is malformed raises `OSError`, as it means to the broker what a bad disk means.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except UnicodeDecodeError as problem:
        raise OSError(f"Malformed checkpoint file ({path}): {problem}") from problem
    if len(lines) < 2:
        return []
    if lines[0] != _VERSION:
        raise OSError(f"Unrecognized version of the checkpoint file ({path}): {lines[0]!r}")
    entries = [line.split() for line in lines[2:]]
    for entry, line in zip(entries, lines[2:], strict=True):
        if len(entry) != fields:
            raise OSError(f"Malformed line in checkpoint file ({path}): {line!r}")
    if str(len(entries)) != lines[1]:
        raise OSError(
            f"Expected {lines[1]} entries in checkpoint file ({path}), but found {len(entries)}"
        )
    return entries


class OffsetCheckpointFile:
    """An offset for each partition of one log directory."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Replace the file; it blocks for two fsyncs."""
        write_lines(
            self.path, (f"{tp.topic} {tp.partition} {offset}" for tp, offset in offsets.items())
        )

    def read(self) -> dict[TopicPartition, int]:
        """Return all offsets; malformed content raises `OSError`."""
        try:
            return {
                TopicPartition(topic, int(partition)): int(offset)
                for topic, partition, offset in read_lines(self.path, 3)
            }
        except ValueError as problem:
            raise OSError(
                f"Malformed line in checkpoint file ({self.path}): {problem}"
            ) from problem
