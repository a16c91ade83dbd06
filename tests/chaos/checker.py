"""Derives from a history what went wrong, each anomaly from its definition.

- lost: a record was acknowledged at a place, and at the end something else or nothing is there;
- duplicated: a value is in the log twice (forbidden to idempotent producers);
- divergent: two reads of one offset gave different values, so a consumer saw what was taken back;
- invented: a value is in the log that nobody sent.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tests.chaos.history import History, Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The anomalies of a run; all empty is what we want."""

    lost: tuple[Place, ...]
    duplicated: tuple[bytes, ...]
    divergent: tuple[Place, ...]
    invented: tuple[bytes, ...]

    @property
    def is_good(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.lost or self.duplicated or self.divergent or self.invented)

    def __str__(self) -> str:
        return (
            f"{len(self.lost)} lost, {len(self.duplicated)} duplicated, "
            f"{len(self.divergent)} divergent, {len(self.invented)} invented"
        )


def check(history: History, final: Mapping[Place, bytes], sent: Iterable[bytes]) -> Verdict:
    """Judge a history by what is in the log at the end; `sent` are all values ever sent."""
    lost = [place for place, value in history.acked.items() if final.get(place) != value]
    times = Counter(final.values())
    divergent = [
        place
        for place, values in history.consumed.items()
        if len(values | ({final[place]} if place in final else set())) > 1
        # What was read and is gone at the end was taken back as well.
        or place not in final
    ]
    return Verdict(
        lost=tuple(lost),
        duplicated=tuple(value for value, count in times.items() if count > 1),
        divergent=tuple(divergent),
        invented=tuple(set(times) - set(sent)),
    )


def gaps(final: Mapping[Place, bytes]) -> list[Place]:
    """Return the places missing between the first and the last offset of each partition."""
    by_partition: dict[int, list[int]] = {}
    for partition, offset in final:
        by_partition.setdefault(partition, []).append(offset)
    return [
        (partition, offset)
        for partition, offsets in by_partition.items()
        for offset in sorted(set(range(min(offsets), max(offsets) + 1)) - set(offsets))
    ]
