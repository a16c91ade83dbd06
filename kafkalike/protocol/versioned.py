"""Payloads that carry their version in front, as two bytes: Kafka's `MessageUtil`."""

from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.schema import Message

VERSION_SIZE = 2


def encode_versioned(message: Message, version: int) -> bytes:
    """Return the version and the message in that version."""
    return version.to_bytes(VERSION_SIZE, "big", signed=True) + message.encode(version)


def read_version(data: bytes) -> int:
    """Return the version in front of a payload, which starts at `VERSION_SIZE`."""
    if len(data) < VERSION_SIZE:
        raise ProtocolError(f"{len(data)} bytes are too short to begin with a version")
    return int.from_bytes(data[:VERSION_SIZE], "big", signed=True)
