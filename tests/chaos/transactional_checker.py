"""Derives from a transactional copy what went wrong, each anomaly from its definition.

A copier marks every value that it writes with the transaction that wrote it, and tells what became
of the transaction. The committed copy must be the source: all of it, once, in its order.

- lost: a value of the source that the copy lacks;
- duplicated: a value of the source that the copy has twice;
- reordered: a value that comes in the copy before one that precedes it in the source;
- invented: a value that the source lacks, at least in that partition;
- aborted read: a value of a transaction that was told to be aborted;
- torn: a transaction of which the copy has a part, or nothing though it was told to be committed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

_SEPARATOR = b"|"

Values = Mapping[int, Sequence[bytes]]
"""What is in each partition, in the order of offsets."""


class Outcome(Enum):
    """What a copier was told of the end of a transaction."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"
    """No answer, or it was fenced: others decide."""


class Told(NamedTuple):
    """A transaction by its copier: how many records it wrote, and what became of it."""

    transaction: str
    count: int
    outcome: Outcome


class Copied(NamedTuple):
    """A value of the copy: by which transaction, and of what."""

    transaction: str
    value: bytes


def mark(transaction: str, value: bytes) -> bytes:
    """Return what a copier writes for a value of the source."""
    return transaction.encode() + _SEPARATOR + value


def unmark(written: bytes) -> Copied:
    """Take apart what a copier wrote."""
    transaction, _, value = written.partition(_SEPARATOR)
    return Copied(transaction.decode(), value)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyVerdict:
    """The anomalies of a copy; all empty is what we want."""

    lost: tuple[bytes, ...]
    duplicated: tuple[bytes, ...]
    reordered: tuple[bytes, ...]
    invented: tuple[bytes, ...]
    aborted_read: tuple[bytes, ...]
    torn: tuple[str, ...]

    @property
    def is_good(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def problems(self) -> list[str]:
        """Each kind of anomaly with how many there are, and the first few."""
        kinds = ("lost", "duplicated", "reordered", "invented", "aborted_read", "torn")
        return [
            f"copy: {len(found)} {kind}: {', '.join(map(str, found[:5]))}"
            for kind in kinds
            if (found := getattr(self, kind))
        ]


def check_copy(source: Values, copy: Values, told: Iterable[Told]) -> CopyVerdict:
    """Judge what is committed in the copy when all is quiet again."""
    told = list(told)
    aborted = {one.transaction for one in told if one.outcome is Outcome.ABORTED}
    copied = {partition: [unmark(one) for one in values] for partition, values in copy.items()}
    sent = {(partition, one) for partition, ones in source.items() for one in ones}
    times = Counter((partition, one.value) for partition, one in _flat(copied))
    return CopyVerdict(
        lost=tuple(one for p, ones in source.items() for one in ones if not times[p, one]),
        duplicated=tuple(one for (_, one), count in times.items() if count > 1),
        reordered=tuple(_reordered(source, copied)),
        invented=tuple(one for _, one in times.keys() - sent),
        aborted_read=tuple(one.value for _, one in _flat(copied) if one.transaction in aborted),
        torn=tuple(_torn(told, Counter(one.transaction for _, one in _flat(copied)))),
    )


def _flat(copied: Mapping[int, Sequence[Copied]]) -> Iterator[tuple[int, Copied]]:
    return ((partition, one) for partition, ones in copied.items() for one in ones)


def _reordered(source: Values, copied: Mapping[int, Sequence[Copied]]) -> Iterator[bytes]:
    for partition, ones in copied.items():
        places = {one: n for n, one in enumerate(source.get(partition, ()))}
        known = [one.value for one in ones if one.value in places]
        yield from (b for a, b in pairwise(known) if places[b] < places[a])


def _torn(told: Iterable[Told], count_by_transaction: Mapping[str, int]) -> Iterator[str]:
    for transaction, count, outcome in told:
        found = count_by_transaction.get(transaction, 0)
        is_whole = found == count or (found == 0 and outcome is not Outcome.COMMITTED)
        if outcome is not Outcome.ABORTED and not is_whole:
            yield transaction
