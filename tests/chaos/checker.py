"""Derives from a history what went wrong, each anomaly from its definition.

- lost: a record was acknowledged at a place, and at the end something else or nothing is there
  (librdkafka takes what stands before an acknowledged record for acknowledged, and does not know
  the place: then it is nowhere);
- duplicated: a value is in the log twice, written by one producer in one epoch (what idempotence
  forbids);
- resent: a value is in the log twice, but its producer had begun a new epoch in between: no broker
  can know that it is the same. librdkafka does this when the first of two requests in flight was
  refused (NOT_LEADER_OR_FOLLOWER) and the second came to a leader, which must refuse it
  (OUT_OF_ORDER_SEQUENCE_NUMBER): then it begins a new epoch for all partitions, also for records
  that are written and whose answer it did not get. By its code Apache Kafka answers the same
  (no run has shown it), so it is told and not held against the brokers;
- divergent: two reads of one offset gave different values, so a consumer saw what was taken back;
- invented: a value is in the log that nobody sent.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tests.chaos.history import History, Place
from tests.chaos.replicas import Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The anomalies of a run; all empty is what we want."""

    lost: tuple[bytes, ...]
    duplicated: tuple[bytes, ...]
    resent: tuple[bytes, ...]
    divergent: tuple[Place, ...]
    invented: tuple[bytes, ...]

    @property
    def is_good(self) -> bool:
        """Whether nothing is wrong with the brokers."""
        return not (self.lost or self.duplicated or self.divergent or self.invented)

    def __str__(self) -> str:
        return (
            f"{len(self.lost)} lost, {len(self.duplicated)} duplicated, "
            f"{len(self.resent)} resent by clients in a new epoch, "
            f"{len(self.divergent)} divergent, {len(self.invented)} invented"
        )


def check(
    history: History,
    final: Mapping[Place, bytes],
    sent: Iterable[bytes],
    writers: Mapping[Place, Writer] | None = None,
) -> Verdict:
    """Judge a history by what is in the log at the end.

    `sent` are all values ever sent, `writers` who wrote what is at each place.
    """
    writers = writers or {}
    times = Counter(final.values())
    by_writer = Counter((value, writers.get(place)) for place, value in final.items())
    duplicated = {value for (value, _), count in by_writer.items() if count > 1}
    lost = [
        value
        for value, place in history.acked.items()
        if (final.get(place) != value if place[1] >= 0 else value not in times)
    ]
    divergent = [
        place
        for place, values in history.consumed.items()
        if len(values | ({final[place]} if place in final else set())) > 1
        # What was read and is gone at the end was taken back as well.
        or place not in final
    ]
    return Verdict(
        lost=tuple(lost),
        duplicated=tuple(value for value in times if value in duplicated),
        resent=tuple(
            value for value, count in times.items() if count > 1 and value not in duplicated
        ),
        divergent=tuple(divergent),
        invented=tuple(set(times) - set(sent)),
    )


def evidence(
    verdict: Verdict, history: History, final: Mapping[Place, bytes], most: int = 20
) -> list[str]:
    """Say of what is lost or twice there where it was acknowledged and where it is."""
    suspects = dict.fromkeys((*verdict.lost, *verdict.duplicated, *verdict.resent))
    places: dict[bytes, list[Place]] = {value: [] for value in suspects}
    for place, value in final.items():
        if value in places:
            places[value].append(place)
    return [
        f"{value.decode()}: acknowledged at {history.acked.get(value)}, is at {places[value]}"
        for value in list(suspects)[:most]
    ]


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
