"""Fetched record batches to Arrow record batches in the schema of the source.

Batches of format v2 are read as columns; keys and values are gathered by Arrow in one pass. The
old formats, which nobody writes any more, go record by record.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.records.record import Record, read_varint
from kafkalike.protocol.records.record_batch import MAGIC_V2, BatchHeader
from kafkalike.protocol.records.record_reader import iter_records
from spark_pipeline.datasource.arrow_schema import (
    HEADERS_TYPE,
    PLAIN_SCHEMA,
    SCHEMA_WITH_HEADERS,
)
from spark_pipeline.datasource.record_columns import Found, RecordColumns, read_columns
from spark_pipeline.datasource.varints import Longs

_BINARY_WIDTH = np.int32


class ArrowDecoder:
    """Decodes for one partition; keeps the columns that are the same in every row."""

    def __init__(self, tp: TopicPartition, *, with_headers: bool) -> None:
        self._tp = tp
        self._with_headers = with_headers
        self._schema = SCHEMA_WITH_HEADERS if with_headers else PLAIN_SCHEMA
        self._topics = pa.array([], pa.string())
        self._partitions = pa.array([], pa.int32())

    def decode(
        self, data: memoryview, batches: Iterable[tuple[int, BatchHeader]], first: int, end: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield the records of data batches with `first` <= offset < `end`, in order."""
        for is_new, group in groupby(batches, lambda found: found[1].magic == MAGIC_V2):
            run = [found for found in group if found[1].record_count]
            if not run:
                continue
            made = self._decode_new(data, run, first, end) if is_new else None
            made = self._decode_old(data, run, first, end) if made is None else made
            if made.num_rows:
                yield made

    def _decode_new(self, data: memoryview, run: Found, first: int, end: int) -> pa.RecordBatch:
        rows = read_columns(data, run)
        if run[0][1].base_offset < first or run[-1][1].next_offset > end:
            rows = rows.select((rows.offset >= first) & (rows.offset < end))
        keys, values = _gather(rows)
        columns = [keys, values, *self._constants(len(rows.offset)), pa.array(rows.offset)]
        columns.append(pa.array(rows.timestamp_ms * 1000, PLAIN_SCHEMA.field("timestamp").type))
        columns.append(pa.array(rows.timestamp_type.astype(np.int32)))
        if self._with_headers:
            columns.append(_headers(rows))
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _decode_old(self, data: memoryview, run: Found, first: int, end: int) -> pa.RecordBatch:
        found: list[tuple[Record, int]] = [
            (record, int(header.timestamp_type))
            for position, header in run
            for record in iter_records(data, position, header)
            if first <= record.offset < end
        ]
        columns = [
            pa.array([record.key for record, _ in found], pa.binary()),
            pa.array([record.value for record, _ in found], pa.binary()),
            *self._constants(len(found)),
            pa.array([record.offset for record, _ in found], pa.int64()),
            pa.array(
                [record.timestamp * 1000 for record, _ in found],
                PLAIN_SCHEMA.field("timestamp").type,
            ),
            pa.array([kind for _, kind in found], pa.int32()),
        ]
        if self._with_headers:
            columns.append(pa.nulls(len(found), HEADERS_TYPE))
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _constants(self, count: int) -> tuple[pa.Array, pa.Array]:
        """Return the columns of the topic and the partition; they are made once and then cut."""
        if len(self._partitions) < count:
            self._topics = pa.array([self._tp.topic]).take(pa.array(np.zeros(count, np.int32)))
            self._partitions = pa.array(np.full(count, self._tp.partition, np.int32))
        return self._topics.slice(0, count), self._partitions.slice(0, count)


def _gather(rows: RecordColumns) -> tuple[pa.Array, pa.Array]:
    """Return the columns of keys and values.

    Keys, values and the bytes between them are looked at as one long binary array over the buffer,
    without a copy; taking every fourth element of it copies what is wanted, and that is all.
    """
    count = len(rows.offset)
    if not count:
        return pa.array([], pa.binary()), pa.array([], pa.binary())
    edges = np.empty((count, 4), _BINARY_WIDTH)
    edges[:, 0] = rows.key_start
    edges[:, 1] = rows.key_start + np.maximum(rows.key_length, 0)
    edges[:, 2] = rows.value_start
    edges[:, 3] = rows.value_start + np.maximum(rows.value_length, 0)
    everything = pa.Array.from_buffers(
        pa.binary(), 4 * count - 1, [None, pa.py_buffer(edges), pa.py_buffer(rows.body)]
    )
    places = np.arange(count, dtype=np.int32) * 4
    return (
        _take(everything, places, rows.key_length),
        _take(everything, places + 2, rows.value_length),
    )


def _take(everything: pa.Array, places: "np.ndarray[Any, Any]", lengths: Longs) -> pa.Array:
    is_null = lengths < 0
    if is_null.all():
        return pa.nulls(len(places), pa.binary())
    return everything.take(pa.array(places, mask=is_null if is_null.any() else None))


def _headers(rows: RecordColumns) -> pa.Array:
    """Return the column of headers; a record without any has null, as in Spark's own source."""
    return pa.array(
        [_read_headers(rows.body, int(start)) for start in rows.headers_start], HEADERS_TYPE
    )


def _read_headers(body: memoryview, position: int) -> list[dict[str, Any]] | None:
    if not body[position]:
        return None
    count, position = _varint(body, position)
    found: list[dict[str, Any]] = []
    for _ in range(count):
        size, position = _varint(body, position)
        # Java replaces what is not UTF-8.
        name = bytes(body[position : position + size]).decode("utf-8", "replace")
        position += size
        size, position = _varint(body, position)
        value = None if size < 0 else bytes(body[position : position + size])
        position += max(size, 0)
        found.append({"key": name, "value": value})
    return found


def _varint(body: memoryview, position: int) -> tuple[int, int]:
    return read_varint(body, position)  # type: ignore[arg-type]  # it only indexes
