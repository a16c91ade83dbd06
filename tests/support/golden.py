"""The golden log directories of Apache Kafka 2.8.2, and what a consumer read from them."""

import base64
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parents[1] / "golden"
LOGDIR = GOLDEN / "logdir"


@cache
def expected_partitions() -> dict[str, dict[str, Any]]:
    """Return `expected.json`: by partition name, offsets and records."""
    return dict(json.loads((LOGDIR / "expected.json").read_text()))


def golden_bytes(value: str | dict[str, str] | None) -> bytes | None:
    """Return the bytes that a value in `expected.json` stands for."""
    if isinstance(value, dict):
        return base64.b64decode(value["b64"])
    return None if value is None else value.encode()


def partition_dir(name: str) -> Path:
    """Return the directory of a partition after the clean shutdown."""
    (directory,) = LOGDIR.glob(f"clean/*/{name}")
    return directory


def segment_files(name: str) -> Iterator[Path]:
    """Yield the `.log` files of a partition in order."""
    yield from sorted(partition_dir(name).glob("*.log"))
