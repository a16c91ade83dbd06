"""`.snapshot`: the producers of a partition up to the offset in the file's name.

Version (int16), CRC-32C of all that follows (uint32), then an array of entries. Only the last
batch of each producer is kept.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from struct import Struct

from crc32c import crc32c

from kafkalike.log.log_file_names import PRODUCER_SNAPSHOT_FILE_SUFFIX, segment_file
from kafkalike.log.producer_state_entry import BatchMetadata, ProducerStateEntry

_VERSION = 1
_HEAD = Struct(">hIi")
_ENTRIES_POSITION = 6
_ENTRY = Struct(">qhiqiqiq")


class CorruptSnapshotError(Exception):
    """A snapshot cannot be read; the state is rebuilt from an older one and the log."""


def snapshot_path(log_dir: Path, offset: int) -> Path:
    """Return where the snapshot for an offset is kept."""
    return segment_file(log_dir, offset, PRODUCER_SNAPSHOT_FILE_SUFFIX)


def list_snapshot_offsets(log_dir: Path) -> list[int]:
    """Return the offsets of all snapshots of a directory, ascending."""
    if not log_dir.is_dir():
        return []
    return sorted(
        int(path.stem)
        for path in log_dir.iterdir()
        if path.suffix == PRODUCER_SNAPSHOT_FILE_SUFFIX and path.stem.isdecimal()
    )


def encode_snapshot(entries: Iterable[ProducerStateEntry]) -> bytes:
    """Return the contents of a snapshot file."""
    parts = [
        _ENTRY.pack(
            entry.producer_id,
            entry.producer_epoch,
            entry.last_seq,
            entry.last_data_offset,
            entry.last_offset_delta,
            entry.last_timestamp,
            entry.coordinator_epoch,
            -1 if entry.current_txn_first_offset is None else entry.current_txn_first_offset,
        )
        for entry in entries
    ]
    body = len(parts).to_bytes(4, "big") + b"".join(parts)
    return _VERSION.to_bytes(2, "big") + int(crc32c(body)).to_bytes(4, "big") + body


def decode_snapshot(data: bytes) -> list[ProducerStateEntry]:
    """Return the producers in a snapshot file; `CorruptSnapshotError` if it is damaged."""
    if len(data) < _HEAD.size:
        raise CorruptSnapshotError(f"Snapshot has only {len(data)} bytes")
    version, crc, count = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise CorruptSnapshotError(f"Snapshot contained an unknown file version {version}")
    computed = crc32c(memoryview(data)[_ENTRIES_POSITION:])
    if crc != computed:
        raise CorruptSnapshotError(
            "Snapshot is corrupt (CRC is no longer valid). "
            f"Stored crc: {crc}. Computed crc: {computed}"
        )
    if count < 0 or _HEAD.size + count * _ENTRY.size > len(data):
        raise CorruptSnapshotError(f"Snapshot cannot hold {count} producers")
    end = _HEAD.size + count * _ENTRY.size
    return [_entry(fields) for fields in _ENTRY.iter_unpack(data[_HEAD.size : end])]


def _entry(fields: tuple[int, ...]) -> ProducerStateEntry:
    producer_id, epoch, last_seq, offset, offset_delta, timestamp, coordinator_epoch, txn = fields
    entry = ProducerStateEntry(
        producer_id,
        producer_epoch=epoch,
        coordinator_epoch=coordinator_epoch,
        last_timestamp=timestamp,
        current_txn_first_offset=txn if txn >= 0 else None,
    )
    if offset >= 0:
        entry.batch_metadata.append(BatchMetadata(last_seq, offset, offset_delta, timestamp))
    return entry


def read_snapshot(path: Path) -> list[ProducerStateEntry]:
    """Read a snapshot file."""
    return decode_snapshot(path.read_bytes())


def write_snapshot(path: Path, entries: Iterable[ProducerStateEntry], *, sync: bool = True) -> None:
    """Write a snapshot file; with `sync` it is on the disk when this returns."""
    data = encode_snapshot(entries)
    with path.open("wb") as file:
        file.write(data)
        if sync:
            file.flush()
            os.fsync(file.fileno())
