"""Record batches to columns of numbers: where each record's parts stand, all records at once.

Done by numpy on whole columns, over all batches of a fetch.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kafkalike.protocol.errors import InvalidRecordError
from kafkalike.protocol.records.compression import CompressionType, decompress
from kafkalike.protocol.records.record import TimestampType
from kafkalike.protocol.records.record_batch import (
    LOG_OVERHEAD,
    RECORD_BATCH_OVERHEAD,
    BatchHeader,
)
from spark_pipeline.datasource.record_starts import find_record_starts
from spark_pipeline.datasource.varints import Longs, read_varints

Found = Sequence[tuple[int, BatchHeader]]
"""Positions and headers of batches of format v2."""


class RecordColumns(NamedTuple):
    """Columns of numbers; keys, values and headers as places in `body`. -1 is a null's length."""

    body: memoryview
    offset: Longs
    timestamp_ms: Longs
    timestamp_type: Longs
    key_start: Longs
    key_length: Longs
    value_start: Longs
    value_length: Longs
    headers_start: Longs

    def select(self, rows: npt.NDArray[np.bool_]) -> "RecordColumns":
        """Return only some rows."""
        return RecordColumns(self.body, *(column[rows] for column in self[1:]))


def read_columns(data: memoryview, batches: Found) -> RecordColumns:
    """Read the records of batches of format v2 that stand in `data`."""
    body, spans = _open(data, batches)
    counts = [header.record_count for _, header in batches]
    starts = find_record_starts(body, spans, counts)
    try:
        return _read(body, starts, batches, counts)
    except IndexError:
        raise InvalidRecordError("a record reaches beyond its batch") from None


def _open(data: memoryview, batches: Found) -> tuple[memoryview, list[tuple[int, int]]]:
    """Return a buffer with the opened batches, and where each one's records are in it."""
    spans = [
        (position + RECORD_BATCH_OVERHEAD, position + header.batch_length + LOG_OVERHEAD)
        for position, header in batches
    ]
    if not any(header.is_compressed for _, header in batches):
        return data, spans
    bodies = [
        _opened(header.compression_type, data[start:end])
        for (start, end), (_, header) in zip(spans, batches, strict=True)
    ]
    position, spans = 0, []
    for body in bodies:
        spans.append((position, position + len(body)))
        position += len(body)
    return memoryview(b"".join(bodies)), spans


def _opened(codec: CompressionType, body: memoryview) -> bytes | memoryview:
    return body if codec is CompressionType.NONE else decompress(codec, body)


def _read(body: memoryview, start: Longs, batches: Found, counts: list[int]) -> RecordColumns:
    data = np.frombuffer(body, np.uint8)
    timestamp_delta, position = read_varints(data, start + 1)  # a byte of attributes comes first
    offset_delta, position = read_varints(data, position)
    key_length, key_start = read_varints(data, position)
    value_length, value_start = read_varints(data, key_start + np.maximum(key_length, 0))
    headers_start = value_start + np.maximum(value_length, 0)
    if len(start) and (key_length.min() < -1 or value_length.min() < -1):
        raise IndexError
    # Each record ends before the next one's length; the last of all before the end.
    if len(start) and ((headers_start[:-1] >= start[1:]).any() or headers_start[-1] >= len(data)):
        raise IndexError
    return RecordColumns(
        body,
        _repeated([header.base_offset for _, header in batches], counts) + offset_delta,
        _timestamps(batches, counts, timestamp_delta),
        _repeated([int(header.timestamp_type) for _, header in batches], counts),
        key_start,
        key_length,
        value_start,
        value_length,
        headers_start,
    )


def _timestamps(batches: Found, counts: list[int], delta: Longs) -> Longs:
    append_time = TimestampType.LOG_APPEND_TIME
    is_appended = [header.timestamp_type is append_time for _, header in batches]
    times = _repeated([header.base_timestamp for _, header in batches], counts) + delta
    if not any(is_appended):
        return times
    broker_times = _repeated([header.max_timestamp for _, header in batches], counts)
    return np.where(np.repeat(is_appended, counts), broker_times, times)


def _repeated(numbers: list[int], counts: list[int]) -> Longs:
    return np.repeat(np.array(numbers, np.int64), counts)
