"""Which partition of an internal topic, and so which broker, looks after a group or transaction."""

from functools import lru_cache

_INT32 = 1 << 32
_MIN_INT32 = -(1 << 31)
_REMEMBERED = 1 << 14


def java_hash_code(text: str) -> int:
    """Return Java's `String.hashCode`: over UTF-16 units, wrapping at 32 bits."""
    units = text.encode("utf-16-be", "surrogatepass")
    hash_code = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        hash_code = (31 * hash_code + (high << 8 | low)) % _INT32
    return hash_code - _INT32 if hash_code >= _INT32 >> 1 else hash_code


# Every heartbeat asks this of its group.
@lru_cache(maxsize=_REMEMBERED)
def partition_for(key: str, partition_count: int) -> int:
    """Return the partition of a group id or transactional id."""
    hash_code = java_hash_code(key)
    # Java has no positive counterpart of its smallest number; Kafka takes 0.
    return 0 if hash_code == _MIN_INT32 else abs(hash_code) % partition_count
