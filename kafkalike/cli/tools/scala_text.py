"""How Scala prints collections: Kafka's tools show them as they are, in the order of hash tables.

The order is that of `mutable.HashMap` and `HashSet` in Scala 2.13: by slot in a table that doubles
when it is three quarters full, and by hash within a slot; Java's `HashMap` is much the same.
"""

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from kafkalike.model.topic_partition import TopicPartition

T = TypeVar("T")

_SMALLEST_TABLE: Final = 16
_LOAD_FACTOR: Final = 0.75
_INT: Final = 0xFFFFFFFF


def string_hash(text: str) -> int:
    """Return Java's `String.hashCode`, as an unsigned number."""
    result = 0
    units = text.encode("utf-16-be")
    for position in range(0, len(units), 2):
        result = (31 * result + (units[position] << 8 | units[position + 1])) & _INT
    return result


def partition_hash(tp: TopicPartition) -> int:
    """Return the `hashCode` of Kafka's TopicPartition, as an unsigned number."""
    return (31 * (31 + tp.partition) + string_hash(tp.topic)) & _INT


def hash_order(items: Iterable[T], hash_of: Callable[[T], int]) -> list[T]:
    """Return items in the order in which a hash table of Scala gives them."""
    given = list(items)
    size = _SMALLEST_TABLE
    while len(given) + 1 > size * _LOAD_FACTOR:
        size *= 2

    def place(item: T) -> tuple[int, int]:
        improved = hash_of(item) ^ hash_of(item) >> 16
        # Hashes within a slot are compared as signed numbers.
        return improved & (size - 1), improved - (1 << 32) * (improved >> 31)

    return sorted(given, key=place)


def java_hash_order(items: Iterable[T], hash_of: Callable[[T], int]) -> list[T]:
    """Return items in the order in which a `java.util.HashMap` gives them."""
    given = list(items)
    size = _SMALLEST_TABLE
    while len(given) > size * _LOAD_FACTOR:
        size *= 2
    return sorted(given, key=lambda item: (hash_of(item) ^ hash_of(item) >> 16) & (size - 1))


def option(value: object) -> str:
    """Show a value that may be missing: `Some(x)` or `None`."""
    return "None" if value is None else f"Some({value})"
