"""Finds where records begin: each says how long it is, so one is found after the other.

That is the only work per record in Python, and it is avoided where it can be: many small batches
are walked through side by side, and in a large one runs of records of one size are found at once.
"""

from typing import Final

import numpy as np

from kafkalike.protocol.errors import InvalidRecordError
from kafkalike.protocol.records.record import read_varint
from spark_pipeline.datasource.varints import Bytes, Longs, read_varints

Spans = list[tuple[int, int]]
"""From where to where the records of each batch are."""

_SIDE_BY_SIDE: Final = 160
"""From so many batches on it is faster to walk through all of them at once."""
_TRIED_RUN: Final = 24
_FIRST_STEPS: Final = 64
_MOST_STEPS: Final = 4096


def find_record_starts(body: memoryview, spans: Spans, counts: list[int]) -> Longs:
    """Return where the records of all batches begin, behind their lengths."""
    if counts and min(counts) < 0:
        raise InvalidRecordError(f"a batch cannot have {min(counts)} records")
    data = np.frombuffer(body, np.uint8)
    # The largest first: then the batches that still have records are always the first ones.
    order = sorted(range(len(spans)), key=lambda batch: -counts[batch])
    places: Longs = np.array(np.cumsum(counts) - counts, np.int64)[order]
    starts = np.empty(sum(counts), np.int64)
    positions = np.array([spans[batch][0] for batch in order], np.int64)
    try:
        done, active = 0, len(order)
        if active >= _SIDE_BY_SIDE:
            done, active = _walk_together(
                data, positions, places, [counts[batch] for batch in order], starts
            )
        for lane in range(active):
            count, place = counts[order[lane]], int(places[lane])
            found = starts[place + done : place + count]
            positions[lane] = _walk(body, data, int(positions[lane]), found)
    except IndexError:
        raise InvalidRecordError("a record reaches beyond its batch") from None
    if any(positions[lane] != spans[batch][1] for lane, batch in enumerate(order)):
        raise InvalidRecordError("records do not end where their batch ends")
    return starts


def _walk_together(
    data: Bytes, positions: Longs, places: Longs, counts: list[int], starts: Longs
) -> tuple[int, int]:
    """Take a record of each batch at a time, as long as there are many batches.

    Moves the positions. Returns how many records were taken of the batches that have more, and how
    many of these there are.
    """
    done, active = 0, len(counts)
    while True:
        while active and counts[active - 1] == done:
            active -= 1
        if active < _SIDE_BY_SIDE:
            return done, active
        sizes, begin = read_varints(data, positions[:active])
        if sizes.min() < 0:
            raise IndexError
        starts[places[:active] + done] = begin
        positions[:active] = begin + sizes
        done += 1


def _walk(body: memoryview, data: Bytes, position: int, starts: Longs) -> int:
    """Fill in the starts of one batch's records; return where they end."""
    count = len(starts)
    done = 0
    steps = _FIRST_STEPS
    while done < count:
        run, size, width = _equal_run(body, data, position, count - done)
        if run >= _TRIED_RUN:
            starts[done : done + run] = np.arange(run, dtype=np.int64) * size + position + width
            position += run * size
            done += run
            steps = _FIRST_STEPS
        else:
            # Sizes change: go step by step, and look for runs the more seldom.
            found, position = _step(body, position, min(steps, count - done))
            starts[done : done + len(found)] = found
            done += len(found)
            steps = min(steps * 2, _MOST_STEPS)
    return position


def _equal_run(body: memoryview, data: Bytes, position: int, most: int) -> tuple[int, int, int]:
    """Return how many records from here on have the same size, that size, and a length's width.

    If the record that follows one of this size has this size as well, so on for all that do.
    """
    length, begin = read_varint(body, position)  # type: ignore[arg-type]  # it only indexes
    if length < 0:
        raise IndexError
    width = begin - position
    size = width + length
    most = min(most, (len(data) - position) // size)
    for tried in (min(_TRIED_RUN, most), most):
        same = np.ones(tried, np.bool_)
        for byte in range(position, begin):
            same &= data[byte : byte + (tried - 1) * size + 1 : size] == data[byte]
        if not same.all():
            return int(same.argmin()), size, width
    return most, size, width


def _step(body: memoryview, position: int, count: int) -> tuple[list[int], int]:
    """Find so many records one by one; return their starts and where they end."""
    starts: list[int] = []
    add = starts.append
    for _ in range(count):
        size = body[position]
        if size < 0x80:
            position += 1
        else:
            byte = body[position + 1]
            if byte < 0x80:
                size = size & 0x7F | byte << 7
                position += 2
            else:
                size, position = read_varint(body, position)  # type: ignore[arg-type]
                if size < 0:
                    raise IndexError
                size <<= 1
        add(position)
        position += size >> 1
    return starts, position
