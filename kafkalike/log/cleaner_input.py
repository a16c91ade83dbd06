"""The files that a cleaning reads: handed to a thread, with all that it must know of them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kafkalike.log.file_records import FileRecords
from kafkalike.log.transaction_index import AbortedTxn
from kafkalike.protocol.errors import CorruptRecordError
from kafkalike.protocol.records.record_batch import (
    LOG_OVERHEAD,
    BatchHeader,
    iter_batches,
    parse_batch_header,
)


class DirtySegment(NamedTuple):
    """A segment whose keys go into the offset map, read from a position on."""

    file: FileRecords
    position: int
    end_offset: int


class SourceSegment(NamedTuple):
    """A segment that is cleaned; tombstones stay in it if it `retains_deletes`."""

    base_offset: int
    file: FileRecords
    aborted_txns: Sequence[AbortedTxn]
    retains_deletes: bool
    last_modified_ms: int


def read_batches(
    file: FileRecords, position: int, buffer_bytes: int
) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Yield the batches of a file, read by the buffer; a larger batch is read by itself.

    A batch that is cut off raises `CorruptRecordError`: a closed segment has none.
    """
    end = file.size_in_bytes
    while position < end:
        data = memoryview(file.read(position, buffer_bytes))
        consumed = 0
        for start, header in iter_batches(data):
            consumed = start + header.size_in_bytes
            yield header, data[start:consumed]
        if not consumed:
            batch = _read_batch(file, position, end)
            consumed = len(batch)
            yield parse_batch_header(batch), batch
        position += consumed


def _read_batch(file: FileRecords, position: int, end: int) -> memoryview:
    prefix = file.read(position, LOG_OVERHEAD)
    size = LOG_OVERHEAD + int.from_bytes(prefix[8:], "big", signed=True)
    if len(prefix) < LOG_OVERHEAD or not LOG_OVERHEAD < size <= end - position:
        raise CorruptRecordError(
            f"{file.path} may be corrupt: a batch of {size} bytes at position {position}, where "
            f"{end - position} bytes are left"
        )
    return memoryview(file.read(position, size))
