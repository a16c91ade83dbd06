"""Who is told how many partitions a request creates or deletes, and may refuse it (KIP-599)."""

from collections.abc import Callable

RecordMutations = Callable[[int], None]
"""Is told of so many partitions before they are written; raises if they are too many."""


def no_limit(partitions: int) -> None:
    """Let any number of partitions be created or deleted."""
