"""Kafka's Uuid (KIP-516): 16 raw bytes, shown as 22 characters of url-safe base64."""

import base64
from collections.abc import Callable

ZERO_UUID = bytes(16)
_RESERVED = (ZERO_UUID, bytes(15) + b"\x01")


def uuid_to_string(uuid: bytes) -> str:
    """Show a uuid as Kafka's tools and files do."""
    return base64.urlsafe_b64encode(uuid).decode("ascii").rstrip("=")


def uuid_from_string(text: str) -> bytes:
    """Read what `uuid_to_string` wrote; raise ValueError on anything else."""
    try:
        uuid = base64.urlsafe_b64decode(text + "==")
    except ValueError:  # not base64, or not ASCII
        uuid = b""
    if len(uuid) != 16:
        raise ValueError(f"{text!r} is not a uuid: 22 characters of url-safe base64 are needed")
    return uuid


def random_uuid(random_bytes: Callable[[int], bytes]) -> bytes:
    """Draw a uuid that is neither reserved nor begins with a dash (as an option would)."""
    while True:
        raw = bytearray(random_bytes(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        uuid = bytes(raw)
        if uuid not in _RESERVED and not uuid_to_string(uuid).startswith("-"):
            return uuid
