"""The `.log` files of `kafka-dump-log`: a line per batch, and one per record if asked for."""

import mmap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kafkalike.log.log_file_names import offset_from_file
from kafkalike.protocol.records.control_record import (
    ControlRecordType,
    parse_control_type,
    parse_end_txn_marker,
)
from kafkalike.protocol.records.legacy_message_set import open_legacy_entry
from kafkalike.protocol.records.record import Record, TimestampType
from kafkalike.protocol.records.record_batch import (
    HEADER_SIZE_UP_TO_MAGIC,
    MAGIC_V2,
    BatchHeader,
    compute_crc,
    iter_batches,
)
from kafkalike.protocol.records.record_reader import iter_records

TIMESTAMP_TYPES: Final = {
    TimestampType.NO_TIMESTAMP_TYPE: "NoTimestampType",
    TimestampType.CREATE_TIME: "CreateTime",
    TimestampType.LOG_APPEND_TIME: "LogAppendTime",
}

Parser = Callable[[bytes | None, bytes | None], tuple[str | None, str | None]]
"""From key and value to what is printed of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentDump:
    """How a segment is dumped; `parser` is None if keys and values are not to be printed."""

    is_deep: bool
    parser: Parser | None
    skip_record_metadata: bool

    def lines(self, file: Path, gaps: list[tuple[int, int]]) -> Iterator[str]:
        """Give the lines of a segment; offsets that do not follow each other go to `gaps`."""
        yield f"Starting offset: {offset_from_file(file)}"
        with open_file(file) as data:
            valid_bytes = 0
            last_offset = -1
            for position, header in iter_batches(data):
                is_valid = compute_crc(data, position, header) == header.crc
                yield _batch_line(header, position, is_valid)
                valid_bytes = position + header.size_in_bytes
                if not self.is_deep:
                    continue
                base_offset = None
                for record in _records(data, position, header):
                    base_offset = record.offset if base_offset is None else base_offset
                    if last_offset not in (-1, record.offset - 1):
                        gaps.append((last_offset, record.offset))
                    last_offset = record.offset
                    yield self._record_line(record, header, position, base_offset)
            trailing = len(data) - valid_bytes
            if trailing > 0:
                yield f"Found {trailing} invalid bytes at the end of {file.name}"

    def _record_line(
        self, record: "_Deep", header: BatchHeader, position: int, first_offset: int
    ) -> str:
        parts = []
        if not self.skip_record_metadata:
            parts.append(_record_text(record, header, position, first_offset))
        key = payload = None
        if self.parser is not None and not header.is_control:
            key, payload = self.parser(record.key, record.value)
        if key is not None:
            parts.append(f"key: {key}")
        text = f"| {' '.join(parts)}" if parts else ""  # a payload alone has no mark, as in Kafka
        return text if payload is None else f"{text} payload: {payload}"


@contextmanager
def open_file(path: Path) -> Iterator[memoryview | bytes]:
    """Map a file: a segment may be larger than what we want to hold in memory."""
    with path.open("rb") as file:
        if not path.stat().st_size:  # which cannot be mapped
            yield b""
            return
        yield memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


@dataclass(frozen=True, slots=True)
class _Deep:
    """A record of any format, with the checksum that the old ones have."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    header_keys: tuple[str, ...] = ()
    crc: int | None = None
    is_valid: bool = True


def _records(data: memoryview | bytes, position: int, header: BatchHeader) -> Iterator[_Deep]:
    if header.magic == MAGIC_V2:
        for record in iter_records(data, position, header):
            names = tuple(name for name, _ in record.headers)
            yield _Deep(record.offset, record.timestamp, record.key, record.value, names)
        return
    view = memoryview(data)[position : position + header.size_in_bytes]
    for message in open_legacy_entry(view, header):
        yield _Deep(
            message.offset,
            message.timestamp,
            message.key,
            message.value,
            crc=message.crc,
            is_valid=message.has_valid_crc,
        )


def _batch_line(header: BatchHeader, position: int, is_valid: bool) -> str:
    if header.magic == MAGIC_V2:
        head = (
            f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} "
            f"count: {header.record_count} baseSequence: {header.base_sequence} "
            f"lastSequence: {header.last_sequence} producerId: {header.producer_id} "
            f"producerEpoch: {header.producer_epoch} "
            f"partitionLeaderEpoch: {header.partition_leader_epoch} "
            f"isTransactional: {_bool(header.is_transactional)} "
            f"isControl: {_bool(header.is_control)}"
        )
    else:
        head = f"offset: {header.last_offset}"
    return (
        f"{head} position: {position} {TIMESTAMP_TYPES[header.timestamp_type]}: "
        f"{header.max_timestamp} size: {header.size_in_bytes} magic: {header.magic} "
        f"compresscodec: {header.compression_type.name} crc: {header.crc} "
        f"isvalid: {_bool(is_valid)}"
    )


def _record_text(record: _Deep, header: BatchHeader, position: int, first_offset: int) -> str:
    # A compressed wrapper of an old format stands at its last offset.
    base_offset = header.base_offset if header.magic == MAGIC_V2 else first_offset
    crc = "null" if record.crc is None else str(record.crc)
    parts = [
        f"offset: {record.offset} isValid: {_bool(record.is_valid)} crc: {crc}",
        f"keySize: {_size(record.key)} valueSize: {_size(record.value)}",
        f"{TIMESTAMP_TYPES[header.timestamp_type]}: {record.timestamp}",
        f"baseOffset: {base_offset} lastOffset: {header.last_offset}",
        f"baseSequence: {header.base_sequence} lastSequence: {header.last_sequence}",
        f"producerEpoch: {header.producer_epoch}",
        f"partitionLeaderEpoch: {header.partition_leader_epoch}",
        f"batchSize: {header.size_in_bytes} magic: {header.magic}",
        f"compressType: {header.compression_type.name} position: {position}",
    ]
    if header.magic == MAGIC_V2:
        keys = ",".join(record.header_keys)
        parts.append(f"sequence: {header.sequence_of(record.offset)} headerKeys: [{keys}]")
    else:
        parts.append(f"crc: {crc} isvalid: {_bool(record.is_valid)}")
    if header.is_control:
        parts.append(_control_text(record))
    return " ".join(parts)


def _control_text(record: _Deep) -> str:
    kind = parse_control_type(record.key)
    if kind in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
        marker = parse_end_txn_marker(Record(record.offset, 0, record.key, record.value))
        return f"endTxnMarker: {kind.name} coordinatorEpoch: {marker.coordinator_epoch}"
    number = int.from_bytes((record.key or b"")[2:4], "big", signed=True)
    return f"controlType: {kind.name}({number})"


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _bool(value: bool) -> str:
    return "true" if value else "false"


def first_batch_at(data: memoryview | bytes, position: int) -> BatchHeader | None:
    """Return the header of the batch at a position, if there is a whole one."""
    if position + HEADER_SIZE_UP_TO_MAGIC > len(data):
        return None
    for _, header in iter_batches(data, position):
        return header
    return None
