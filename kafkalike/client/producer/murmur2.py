"""Murmur2 as Kafka's Java client computes it: the same key, the same partition, in any language."""

from functools import cache
from struct import Struct
from typing import Final

_SEED: Final = 0x9747B28C
_M: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF


@cache
def _words(count: int) -> Struct:
    return Struct(f"<{count}I")


def murmur2(data: bytes) -> int:
    """Return the hash as an unsigned number of 32 bits (Java shows the same bits signed)."""
    length = len(data)
    h = _SEED ^ length
    m = _M
    tail = length & ~3
    for k in _words(length >> 2).unpack_from(data):
        k = k * m & _MASK
        h = (h * m & _MASK) ^ ((k ^ k >> 24) * m & _MASK)
    if length != tail:
        h = (h ^ int.from_bytes(data[tail:], "little")) * m & _MASK
    h = (h ^ h >> 13) * m & _MASK
    return h ^ h >> 15


def partition_for_key(key: bytes, partition_count: int) -> int:
    """Return the partition of a key: Kafka's `toPositive(murmur2(key)) % numPartitions`."""
    return (murmur2(key) & 0x7FFFFFFF) % partition_count
