"""Batches and logs for tests: `a_batch()`, `open_log()`, and all records of a log."""

import shutil
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from twisted.internet.defer import succeed

from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.append_origin import AppendOrigin
from kafkalike.log.fetch_data_info import FetchDataInfo, FetchIsolation
from kafkalike.log.log import Log
from kafkalike.log.log_append_info import LogAppendInfo
from kafkalike.log.log_environment import LogEnvironment
from kafkalike.log.log_loader import load_log
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.control_record import ControlRecordType, build_end_txn_marker
from kafkalike.protocol.records.record import Record
from kafkalike.protocol.records.record_batch import BatchHeader, iter_batches
from kafkalike.protocol.records.record_reader import iter_records

T = TypeVar("T")

NOW_MS = 1_700_000_000_000

NO_FSYNC = LogEnvironment(flush_later=lambda job: job.complete(NOW_MS))
"""Everything at once, but rolled segments count as flushed without waiting for a disk."""


def a_batch(
    values: Sequence[bytes | None] = (b"value",),
    *,
    keys: Sequence[bytes | None] | None = None,
    timestamp: int = NOW_MS,
    **options: Any,
) -> memoryview:
    """Return a batch as a producer sends it; `options` are those of `BatchBuilder`."""
    if "producer_id" in options:
        options.setdefault("producer_epoch", 0)
        options.setdefault("base_sequence", 0)
    builder = BatchBuilder(**options)
    for key, value in zip(keys or [None] * len(values), values, strict=True):
        builder.append(timestamp, key, value)
    return memoryview(builder.build())


def open_log(
    directory: Path,
    *,
    environment: LogEnvironment | None = None,
    now_ms: int = NOW_MS,
    config: TopicConfig | None = None,
    log_start_offset: int = 0,
    recovery_point: int = 0,
    had_clean_shutdown: bool = True,
    **settings: Any,
) -> Log:
    """Load (or create) the log in a directory named as a partition; `settings` are its config."""
    return load_log(
        directory,
        config or TopicConfig(**settings),
        environment or NO_FSYNC,
        now_ms=now_ms,
        log_start_offset=log_start_offset,
        recovery_point=recovery_point,
        had_clean_shutdown=had_clean_shutdown,
    )


def append(
    log: Log, batch: memoryview, *, leader_epoch: int = 0, now_ms: int = NOW_MS
) -> LogAppendInfo:
    """Append as leader with no followers: the high watermark follows at once."""
    info = log.append_as_leader(batch, leader_epoch=leader_epoch, now_ms=now_ms)
    log.maybe_increment_high_watermark(log.log_end_offset)
    return info


def append_marker(
    log: Log,
    producer_id: int,
    *,
    is_commit: bool,
    producer_epoch: int = 0,
    coordinator_epoch: int = 0,
    leader_epoch: int = 0,
    moves_high_watermark: bool = True,
) -> LogAppendInfo:
    """End a transaction as its coordinator does."""
    kind = ControlRecordType.COMMIT if is_commit else ControlRecordType.ABORT
    batch = build_end_txn_marker(
        kind,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        coordinator_epoch=coordinator_epoch,
        timestamp=NOW_MS,
    )
    info = log.append_as_leader(
        memoryview(batch),
        leader_epoch=leader_epoch,
        now_ms=NOW_MS,
        origin=AppendOrigin.COORDINATOR,
    )
    if moves_high_watermark:
        log.maybe_increment_high_watermark(log.log_end_offset)
    return info


def reads_of(
    log: Log, start_offset: int | None = None, isolation: FetchIsolation = FetchIsolation.LOG_END
) -> Iterator[tuple[FetchDataInfo, list[tuple[BatchHeader, bytes]]]]:
    """Read a log as a consumer does, from an offset (the log's start) to the end."""
    offset = log.log_start_offset if start_offset is None else start_offset
    while True:
        info = log.read(offset, 1 << 20, isolation, min_one_message=True)
        data = info.records if isinstance(info.records, bytes) else info.records.read()
        batches = [(h, data[p : p + h.size_in_bytes]) for p, h in iter_batches(data)]
        if not batches:
            return
        yield info, batches
        offset = batches[-1][0].next_offset


def batches_of(log: Log, start_offset: int | None = None) -> list[tuple[BatchHeader, bytes]]:
    """Read all batches of a log from an offset on."""
    return [batch for _, batches in reads_of(log, start_offset) for batch in batches]


def committed_offsets_of(log: Log) -> list[int]:
    """Return the offsets that a consumer with `read_committed` sees, as the protocol tells it."""
    offsets: list[int] = []
    for info, batches in reads_of(log, isolation=FetchIsolation.TXN_COMMITTED):
        assert info.aborted_transactions is not None
        aborted = sorted(info.aborted_transactions, key=lambda txn: txn.first_offset)
        open_aborted: set[int] = set()
        for header, batch in batches:
            while aborted and aborted[0].first_offset <= header.last_offset:
                open_aborted.add(aborted.pop(0).producer_id)
            if header.is_control:
                open_aborted.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in open_aborted):
                offsets += [record.offset for record in iter_records(batch, 0, header)]
    return offsets


def records_of(log: Log, start_offset: int | None = None) -> list[Record]:
    """Read all records of a log, without control records and what lies before the start."""
    start = log.log_start_offset if start_offset is None else start_offset
    return [
        record
        for header, batch in batches_of(log, start)
        if not header.is_control
        for record in iter_records(batch, 0, header)
        if record.offset >= start
    ]


def values_of(log: Log, start_offset: int | None = None) -> list[bytes | None]:
    """Read all values of a log."""
    return [record.value for record in records_of(log, start_offset)]


def copy_of(log: Log, target: Path) -> Path:
    """Copy a log's files as they are, as if the broker had died now; return the new directory."""
    copy = target / log.directory.name
    shutil.copytree(log.directory, copy)
    return copy


def run_at_once(call: Callable[..., T], *args: Any) -> Awaitable[T]:
    """Stand in for the thread pool (`RunBlocking`)."""
    return succeed(None).addCallback(lambda _: call(*args))
