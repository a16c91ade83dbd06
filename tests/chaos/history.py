"""What clients did and saw while things broke: the raw material of the checker."""

import threading
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise

Place = tuple[int, int]
"""Partition and offset; a negative offset says that the producer was not told where."""


@dataclass(slots=True)
class History:
    """Written by producer and consumer threads, read when they have ended.

    Values are unique over a run, so a value that is read twice was written twice.
    """

    acked: dict[bytes, Place] = field(default_factory=dict)
    failed: list[tuple[bytes, str]] = field(default_factory=list)
    consumed: dict[Place, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    acked_at_s: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note_acked(self, place: Place, value: bytes, now_s: float) -> None:
        """A producer was told that a record is at a place."""
        with self._lock:
            self.acked[value] = place
            self.acked_at_s[place[0]].append(now_s)

    def note_failed(self, value: bytes, why: str) -> None:
        """A producer gave up: the record may or may not be there."""
        with self._lock:
            self.failed.append((value, why))

    def note_consumed(self, place: Place, value: bytes) -> None:
        """A consumer read a record."""
        with self._lock:
            self.consumed[place].add(value)

    def longest_pause_s(self, since_s: float, until_s: float) -> float:
        """Return the longest time without an acknowledgement of any one partition.

        Others may go on meanwhile: who writes to that partition waits nevertheless.
        """
        with self._lock:
            times = [list(moments) for moments in self.acked_at_s.values()]
        return max(
            (_longest_pause_s(moments, since_s, until_s) for moments in times),
            default=until_s - since_s,
        )


def _longest_pause_s(times_s: list[float], since_s: float, until_s: float) -> float:
    between = sorted(t for t in times_s if since_s <= t <= until_s)
    return max(later - earlier for earlier, later in pairwise([since_s, *between, until_s]))
