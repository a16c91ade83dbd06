"""What is on disk when all brokers have stopped: the same bytes everywhere, and who wrote them."""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from kafkalike.log.file_records import FileRecords
from tests.chaos.history import Place


class Writer(NamedTuple):
    """A producer, as brokers know it; sequences begin anew with each epoch."""

    producer_id: int
    epoch: int


def writers(log_dir: Path, topic: str, partitions: int) -> dict[Place, Writer]:
    """Return who wrote each record of a topic."""
    return {
        (number, offset): Writer(header.producer_id, header.producer_epoch)
        for number in range(partitions)
        for path in sorted((log_dir / f"{topic}-{number}").glob("*.log"))
        for _, header in FileRecords(path).headers()
        for offset in range(header.base_offset, header.next_offset)
    }


def differing_replicas(log_dirs: Iterable[Path], topic: str, partitions: int) -> list[str]:
    """Compare the logs of each partition in all directories; return what differs."""
    problems = []
    for number in range(partitions):
        name = f"{topic}-{number}"
        replicas = [(path, _log_bytes(path / name)) for path in log_dirs if (path / name).is_dir()]
        problems += [
            f"{name}: {len(data)} bytes in {path}, {len(other)} in {other_path}, "
            f"equal up to byte {_equal_up_to(data, other)}"
            for (path, data), (other_path, other) in pairwise(replicas)
            if data != other
        ]
    return problems


def _log_bytes(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))


def _equal_up_to(one: bytes, other: bytes) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), -1)
