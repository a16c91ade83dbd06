"""Any history, cleaned again and again, against what compaction may keep and must keep."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafkalike.log.cleaner_job import last_records_of_active_producers
from kafkalike.protocol.records.compression import CompressionType
from tests.support.log_builder import (
    NOW_MS,
    a_batch,
    append,
    append_marker,
    batches_of,
    committed_offsets_of,
    open_log,
    records_of,
)
from tests.support.log_cleaning import Cleaning

SETTINGS: dict[str, Any] = {
    "cleanup_policy": ("compact",),
    "segment_bytes": 500,
    "index_interval_bytes": 60,
    "segment_index_bytes": 128,
    "min_cleanable_dirty_ratio": 0.0,
    "delete_retention_ms": 0,
}
PRODUCERS = (1, 2)
keys = st.sampled_from([b"a", b"b", b"c", b"d", b"e"])
values = st.none() | st.binary(max_size=30)


class Written(NamedTuple):
    """A record as it was appended; `is_committed` is None while its transaction is open."""

    offset: int
    key: bytes
    value: bytes | None
    is_committed: bool | None


class CleanedLog(RuleBasedStateMachine):
    """Producers, plain and transactional ones, a log with tiny segments, and its cleaner."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="cleaner-model-"))
        self.written: dict[int, Written] = {}
        self.open: dict[int, list[int]] = {}
        self.sequences = dict.fromkeys(PRODUCERS, 0)
        self.now_ms = NOW_MS
        self.number = 0

    def teardown(self) -> None:
        self.cleaning.close()
        shutil.rmtree(self.home)

    @initialize(buffer_keys=st.sampled_from([2, 4, 1000]))
    def start(self, buffer_keys: int) -> None:
        self.buffer_bytes = 24 * (buffer_keys + 1)
        self.log = open_log(self.home / "0" / "orders-0", **SETTINGS)
        self._start_cleaning()

    def _start_cleaning(self) -> None:
        self.cleaning = Cleaning(
            self.log,
            log_cleaner_dedupe_buffer_size=self.buffer_bytes,
            log_cleaner_io_buffer_size=400,
        )

    def _write(self, pairs: list[tuple[bytes, bytes | None]], **options: Any) -> list[int]:
        self.now_ms += 7
        batch = a_batch(
            [value for _, value in pairs],
            keys=[key for key, _ in pairs],
            timestamp=self.now_ms,
            **options,
        )
        start = append(self.log, batch).first_offset
        return list(range(start, start + len(pairs)))

    @rule(
        pairs=st.lists(st.tuples(keys, values), min_size=1, max_size=4),
        codec=st.sampled_from([CompressionType.NONE, CompressionType.NONE, CompressionType.LZ4]),
    )
    def produce(self, pairs: list[tuple[bytes, bytes | None]], codec: CompressionType) -> None:
        for offset, pair in zip(self._write(pairs, compression=codec), pairs, strict=True):
            self.written[offset] = Written(offset, *pair, is_committed=True)

    @rule(
        producer_id=st.sampled_from(PRODUCERS),
        pairs=st.lists(st.tuples(keys, values), min_size=1, max_size=3),
    )
    def produce_in_transaction(
        self, producer_id: int, pairs: list[tuple[bytes, bytes | None]]
    ) -> None:
        offsets = self._write(
            pairs,
            producer_id=producer_id,
            base_sequence=self.sequences[producer_id],
            is_transactional=True,
        )
        self.sequences[producer_id] += len(pairs)
        for offset, pair in zip(offsets, pairs, strict=True):
            self.written[offset] = Written(offset, *pair, is_committed=None)
        self.open.setdefault(producer_id, []).extend(offsets)

    @precondition(lambda self: self.open)
    @rule(data=st.data(), is_commit=st.booleans())
    def end_transaction(self, data: st.DataObject, is_commit: bool) -> None:
        producer_id = data.draw(st.sampled_from(sorted(self.open)))
        append_marker(self.log, producer_id, is_commit=is_commit)
        for offset in self.open.pop(producer_id):
            self.written[offset] = self.written[offset]._replace(is_committed=is_commit)

    @rule()
    def roll(self) -> None:
        self.log.roll(self.now_ms)

    @rule()
    def clean(self) -> None:
        for segment in list(self.log.segments)[:-1]:
            # Mostly all files are of one second; here each is older than the next.
            at_ns = (NOW_MS + segment.base_offset) * 10**6
            os.utime(segment.log.path, ns=(at_ns, at_ns))
        self.cleaning.clean()

    @rule(is_clean=st.booleans())
    def restart(self, is_clean: bool) -> None:
        end, recovery_point = self.log.log_end_offset, self.log.recovery_point
        if is_clean:
            self.log.close()
        self.cleaning.close()
        self.number += 1
        home = self.home / str(self.number)
        shutil.copytree(self.log.parent_dir, home)
        self.log = open_log(
            home / "orders-0",
            had_clean_shutdown=is_clean,
            recovery_point=min(recovery_point, end),
            **SETTINGS,
        )
        assert self.log.log_end_offset == end
        self.log.update_high_watermark(end)
        self._start_cleaning()

    # --- what must hold

    def _left(self) -> dict[int, Written]:
        return {
            record.offset: Written(record.offset, record.key or b"", record.value, None)
            for record in records_of(self.log)
        }

    @invariant()
    def what_is_left_is_as_it_was_written(self) -> None:
        """Offsets, keys and values never change, and the order is that of the offsets."""
        left = self._left()
        assert list(left) == sorted(left)
        for offset, record in left.items():
            assert self.written[offset]._replace(is_committed=None) == record

    @invariant()
    def last_value_of_each_key_is_there(self) -> None:
        """Of committed records, and all that is undecided; a tombstone may be gone."""
        left = self._left()
        latest: dict[bytes, Written] = {}
        for record in self.written.values():
            if record.is_committed is None:
                assert record.offset in left
            elif record.is_committed:
                latest[record.key] = record
        for record in latest.values():
            assert record.offset in left or record.value is None

    @invariant()
    def reader_of_committed_records_sees_the_same_table(self) -> None:
        table = {}
        for offset in sorted(self.written):
            record = self.written[offset]
            if record.is_committed and offset < self.log.last_stable_offset:
                table[record.key] = record.value
        seen = {}
        for offset in committed_offsets_of(self.log):
            record = self.written[offset]
            assert record.is_committed
            seen[record.key] = record.value
        for key in table.keys() | seen.keys():
            assert table.get(key) == seen.get(key)

    @invariant()
    def producers_find_their_last_batch(self) -> None:
        found = {
            header.last_offset: header.last_sequence
            for header, _ in batches_of(self.log)
            if header.has_producer_id and not header.is_control
        }
        for producer_id, last in last_records_of_active_producers(self.log).items():
            if last.last_data_offset is not None:
                assert found[last.last_data_offset] == self.sequences[producer_id] - 1

    @invariant()
    def every_offset_can_be_read_from(self) -> None:
        offsets = list(self._left())
        for start in range(0, self.log.log_end_offset, 3):
            expected = [offset for offset in offsets if offset >= start]
            assert [record.offset for record in records_of(self.log, start)] == expected


TestCleanedLog = CleanedLog.TestCase
TestCleanedLog.settings = settings(
    max_examples=40,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
