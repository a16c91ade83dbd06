"""JSON (and plain text) as Kafka's znodes hold it: compact, UTF-8, keys in the order given."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafkalike.zk.errors import ZkDataError


def encode_json(value: Any) -> bytes:  # Any: whatever JSON can hold
    """Write a value as Kafka's Jackson does."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def decode_text(data: bytes | None, path: str) -> str:
    """Read plain text; ZkDataError names the znode if it holds anything else than UTF-8."""
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        raise ZkDataError(f"{path} holds no text: {data!r}", path=path) from error


def decode_json(data: bytes | None, path: str) -> Any:  # Any: whatever JSON can hold
    """Read a value; ZkDataError names the znode if it holds anything else than JSON."""
    try:
        return json.loads(data or b"")
    except ValueError as error:
        raise ZkDataError(f"{path} holds no JSON: {data!r}", path=path) from error


@contextmanager
def reading(data: bytes | None, path: str) -> Iterator[Any]:  # Any: whatever JSON can hold
    """Read JSON and take it apart in the block: a missing key or a wrong type is a ZkDataError."""
    value = decode_json(data, path)
    try:
        yield value
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ZkDataError(f"{path} holds unexpected data: {data!r}", path=path) from error
