"""The index files of `kafka-dump-log`, held against their `.log`; and producer snapshots.

The files are only read: a broker may have them open, and a missing one must not come to be.
"""

from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple

from kafkalike.cli.tools.dump_segment import first_batch_at, open_file
from kafkalike.cli.tools.support.errors import JavaError
from kafkalike.log.log_file_names import INDEX_FILE_SUFFIX, LOG_FILE_SUFFIX, offset_from_file
from kafkalike.log.producer_state_snapshot import CorruptSnapshotError, read_snapshot
from kafkalike.log.transaction_index import TransactionIndex
from kafkalike.protocol.records.record_batch import iter_batches
from kafkalike.protocol.records.record_reader import iter_records

_OFFSET_ENTRY: Final = Struct(">ii")
_TIME_ENTRY: Final = Struct(">qi")
_ABORTED_TXN_VERSION: Final = 0


class Pair(NamedTuple):
    """What the index says, and what the log says."""

    indexed: int
    found: int


class TimeIndexErrors:
    """What is wrong with a time index."""

    def __init__(self) -> None:
        self.mismatches: list[Pair] = []
        self.out_of_order: list[Pair] = []
        self.not_found: list[Pair] = []


class OffsetEntries:
    """The entries of an `.index` file."""

    def __init__(self, file: Path) -> None:
        self.base_offset = offset_from_file(file)
        data = file.read_bytes()
        self.length = len(data)
        whole = self.length // _OFFSET_ENTRY.size * _OFFSET_ENTRY.size
        self.entries = [
            (self.base_offset + relative, position)
            for relative, position in _OFFSET_ENTRY.iter_unpack(data[:whole])
        ]

    def written(self) -> list[tuple[int, int]]:
        """Return the entries up to where the preallocated file has none yet."""
        return _until_zero(self.entries, self.base_offset, 0)

    def position_of(self, offset: int) -> int:
        """Return where to begin to look for an offset."""
        return max((p for known, p in self.written() if known <= offset), default=0)


def dump_offset_index(
    file: Path, *, sanity_only: bool, verify_only: bool, mismatches: list[Pair]
) -> Iterator[str]:
    """Give the lines of an `.index` file; entries that do not fit the log go to `mismatches`."""
    index = OffsetEntries(file)
    with open_file(file.with_suffix(LOG_FILE_SUFFIX)) as data:
        if not index.entries:
            yield f"{file} is empty."
            return
        if sanity_only:
            _check_offset_index(file, index)
            yield f"{file} passed sanity check."
            return
        for offset, position in index.written():
            header = first_batch_at(data, position)
            if header is None:
                raise JavaError("java.util.NoSuchElementException", f"no batch at {position}")
            if header.last_offset != offset:
                mismatches.insert(0, Pair(offset, header.last_offset))
            if not verify_only:
                yield f"offset: {offset} position: {position}"


def _check_offset_index(file: Path, index: OffsetEntries) -> None:
    last = index.entries[-1][0]
    if last < index.base_offset:
        raise _corrupt(
            f"Corrupt index found, index file ({file.absolute()}) has non-zero size but the last "
            f"offset is {last} which is less than the base offset {index.base_offset}."
        )
    if index.length % _OFFSET_ENTRY.size:
        raise _corrupt(
            f"Index file {file.absolute()} is corrupt, found {index.length} bytes which is "
            f"neither positive nor a multiple of {_OFFSET_ENTRY.size}."
        )


def dump_time_index(
    file: Path, *, sanity_only: bool, verify_only: bool, errors: TimeIndexErrors
) -> Iterator[str]:
    """Give the lines of a `.timeindex` file; what does not fit the log goes to `errors`."""
    base_offset = offset_from_file(file)
    raw = file.read_bytes()
    whole = len(raw) // _TIME_ENTRY.size * _TIME_ENTRY.size
    entries = [(base_offset + o, time) for time, o in _TIME_ENTRY.iter_unpack(raw[:whole])]
    offsets = OffsetEntries(file.with_suffix(INDEX_FILE_SUFFIX))
    with open_file(file.with_suffix(LOG_FILE_SUFFIX)) as data:
        if sanity_only:
            _check_time_index(file, entries, base_offset, len(raw))
            yield f"{file} passed sanity check."
            return
        previous = -1
        for offset, timestamp in _until_zero(entries, base_offset, 0):
            _compare(data, offsets.position_of(offset), offset, timestamp, previous, errors)
            if not verify_only:
                yield f"timestamp: {timestamp} offset: {offset}"
            previous = timestamp


def _compare(
    data: memoryview | bytes,
    position: int,
    offset: int,
    timestamp: int,
    previous: int,
    errors: TimeIndexErrors,
) -> None:
    found = next(((p, h) for p, h in iter_batches(data, position) if h.last_offset >= offset), None)
    if found is None:
        errors.not_found.append(Pair(offset, -1))
        return
    start, header = found
    if header.last_offset != offset:
        errors.not_found.append(Pair(offset, header.last_offset))
        return
    newest = max((record.timestamp for record in iter_records(data, start, header)), default=-1)
    if newest != timestamp:
        errors.mismatches.append(Pair(timestamp, newest))
    if previous >= timestamp:
        errors.out_of_order.append(Pair(timestamp, previous))


def _check_time_index(
    file: Path, entries: list[tuple[int, int]], base_offset: int, length: int
) -> None:
    what = f"time index file ({file.absolute()}) has non-zero size but the last"
    if entries and entries[-1][1] < entries[0][1]:
        raise _corrupt(
            f"Corrupt time index found, {what} timestamp is {entries[-1][1]} which is less than "
            f"the first timestamp {entries[0][1]}"
        )
    if entries and entries[-1][0] < base_offset:
        raise _corrupt(
            f"Corrupt time index found, {what} offset is {entries[-1][0]} which is less than the "
            f"first offset {base_offset}"
        )
    if length % _TIME_ENTRY.size:
        raise _corrupt(
            f"Time index file {file.absolute()} is corrupt, found {length} bytes which is neither "
            f"positive nor a multiple of {_TIME_ENTRY.size}."
        )


def _corrupt(message: str) -> JavaError:
    return JavaError("kafka.log.CorruptIndexException", message)


def _until_zero(
    entries: list[tuple[int, int]], base_offset: int, column: int
) -> list[tuple[int, int]]:
    """Leave out what was allocated in advance and never written: zeros, after the first entry."""
    for slot, entry in enumerate(entries):
        if slot and entry[column] == base_offset:
            return entries[:slot]
    return entries


def dump_txn_index(file: Path) -> Iterator[str]:
    """Give the lines of a `.txnindex` file."""
    for txn in TransactionIndex(file, offset_from_file(file)).all_aborted_txns:
        yield (
            f"version: {_ABORTED_TXN_VERSION} producerId: {txn.producer_id} "
            f"firstOffset: {txn.first_offset} lastOffset: {txn.last_offset} "
            f"lastStableOffset: {txn.last_stable_offset}"
        )


def dump_producer_snapshot(file: Path, damaged: list[str]) -> Iterator[str]:
    """Give the lines of a `.snapshot` file; one that cannot be read goes to `damaged`."""
    try:
        entries = read_snapshot(file)
    except CorruptSnapshotError as error:
        damaged.append(str(error))
        return
    for entry in entries:
        first = entry.current_txn_first_offset
        shown_first = "None" if first is None else f"Some({first})"
        line = (
            f"producerId: {entry.producer_id} producerEpoch: {entry.producer_epoch} "
            f"coordinatorEpoch: {entry.coordinator_epoch} currentTxnFirstOffset: {shown_first} "
        )
        if entry.batch_metadata:
            batch = entry.batch_metadata[0]
            line += (
                f"firstSequence: {batch.first_seq} lastSequence: {batch.last_seq} "
                f"lastOffset: {batch.last_offset} offsetDelta: {batch.offset_delta} "
                f"timestamp: {batch.timestamp}"
            )
        yield line
