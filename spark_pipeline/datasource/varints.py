"""Zigzag varints, many at once."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from kafkalike.protocol.errors import InvalidRecordError

Longs = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_MAX_SHIFT: Final = 63


def read_varints(data: Bytes, position: Longs) -> tuple[Longs, Longs]:
    """Read a number at each position; return the numbers and the positions behind them.

    A position outside of the data is an `IndexError`.
    """
    byte = data[position]
    position = position + 1
    raw: Any = (byte & 0x7F).astype(np.int64)  # Any: numpy's operators lose the type
    more = np.flatnonzero(byte & 0x80)
    shift = 7
    while len(more):
        if shift > _MAX_SHIFT:
            raise InvalidRecordError("Found invalid record structure: varint is too long")
        byte = data[position[more]]
        raw[more] |= (byte & 0x7F).astype(np.int64) << shift
        position[more] += 1
        more = more[byte >= 0x80]
        shift += 7
    # The sign bit of a raw number is part of it: shift in a zero.
    return (raw.view(np.uint64) >> np.uint64(1)).view(np.int64) ^ -(raw & 1), position
