"""Whether the replicas of a partition are the same bytes, on disk, when all brokers stopped."""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path


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
