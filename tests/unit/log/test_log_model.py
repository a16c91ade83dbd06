"""A log against a list: whatever is done to it, it holds what the list holds."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kafkalike.log.fetch_data_info import FetchIsolation
from kafkalike.protocol.records.compression import CompressionType
from tests.support.log_builder import NOW_MS, a_batch, append, open_log, reads_of, records_of

SETTINGS: dict[str, Any] = {
    "segment_bytes": 400,
    "index_interval_bytes": 60,
    "segment_index_bytes": 128,
}


class LogAndList(RuleBasedStateMachine):
    """`records` are (offset, value) from offset 0 on; the log may have forgotten the first."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="log-model-"))
        self.records: list[tuple[int, bytes]] = []
        self.batch_starts: list[int] = []
        self.number = 0
        self.epoch = 0
        self.now_ms = NOW_MS

    def teardown(self) -> None:
        shutil.rmtree(self.home)

    @initialize()
    def open(self) -> None:
        self.log = open_log(self.home / "0" / "orders-0", **SETTINGS)

    @property
    def end(self) -> int:
        return self.records[-1][0] + 1 if self.records else self.log_start

    @property
    def log_start(self) -> int:
        return self.log.log_start_offset

    @rule(
        sizes=st.lists(st.integers(0, 60), min_size=1, max_size=4),
        codec=st.sampled_from([CompressionType.NONE, CompressionType.SNAPPY]),
        later_ms=st.integers(-5, 20),
    )
    def append(self, sizes: list[int], codec: CompressionType, later_ms: int) -> None:
        self.now_ms += later_ms
        start = self.log.log_end_offset
        values = []
        for size in sizes:
            values.append(b"%d" % self.number + b"." * size)
            self.number += 1
        batch = a_batch(values, compression=codec, timestamp=self.now_ms)
        info = append(self.log, batch, leader_epoch=self.epoch)
        assert (info.first_offset, info.last_offset) == (start, start + len(values) - 1)
        self.records += enumerate(values, start)
        self.batch_starts.append(start)

    @rule()
    def roll(self) -> None:
        self.log.roll(self.now_ms)

    @rule()
    def new_leader(self) -> None:
        self.epoch += 1
        self.log.maybe_assign_epoch_start_offset(self.epoch, self.log.log_end_offset)

    @rule(data=st.data())
    def truncate(self, data: Any) -> None:
        starts = [start for start in self.batch_starts if start >= self.log_start]
        offset = data.draw(st.sampled_from([*starts, self.log.log_end_offset]))
        self.log.truncate_to(offset, self.now_ms)
        self.records = [record for record in self.records if record[0] < offset]
        self.batch_starts = [start for start in self.batch_starts if start < offset]

    @rule(gap=st.integers(0, 50))
    def start_anew(self, gap: int) -> None:
        self.log.truncate_fully_and_start_at(self.log.log_end_offset + gap, self.now_ms)
        self.records.clear()
        self.batch_starts.clear()

    @rule(data=st.data())
    def delete_records(self, data: Any) -> None:
        offset = data.draw(st.integers(self.log_start, self.log.high_watermark))
        self.log.maybe_increment_log_start_offset(offset)
        self.log.delete_old_segments(self.now_ms)
        assert self.log_start == offset

    @rule(is_clean=st.booleans(), flushes=st.booleans())
    def restart(self, is_clean: bool, flushes: bool) -> None:
        """Close the log, or leave it as a dead process does, and load it elsewhere."""
        recovery_point, start = self.log.recovery_point, self.log_start
        if flushes:
            recovery_point = self.log.log_end_offset
        if is_clean:
            self.log.close()
        self.number += 1
        home = self.home / str(self.number) / "orders-0"
        shutil.copytree(self.log.directory, home)
        end = self.log.log_end_offset
        self.log = open_log(
            home,
            had_clean_shutdown=is_clean,
            recovery_point=min(recovery_point, end),
            log_start_offset=start,
            **SETTINGS,
        )
        self.log.update_high_watermark(end)
        assert self.log.log_end_offset == end

    @invariant()
    def log_holds_what_the_list_holds(self) -> None:
        held = [record for record in self.records if record[0] >= self.log_start]
        assert [(each.offset, each.value) for each in records_of(self.log)] == held
        assert self.log.high_watermark == self.log.log_end_offset
        assert self.log.recovery_point <= self.log.log_end_offset
        assert self.log.segments.first.base_offset <= self.log_start

    @rule(data=st.data(), max_length=st.integers(1, 500))
    def read(self, data: Any, max_length: int) -> None:
        """Any offset can be read from; at least a whole batch comes if there is one."""
        offset = data.draw(st.integers(self.log_start, self.log.log_end_offset))
        info = self.log.read(offset, max_length, FetchIsolation.LOG_END, min_one_message=True)
        assert (len(info.records) > 0) == any(each[0] >= offset for each in self.records)
        for _, batches in reads_of(self.log, offset):
            assert batches[0][0].last_offset >= offset
            break

    @rule(data=st.data())
    def find_by_time(self, data: Any) -> None:
        times = {each.timestamp for each in records_of(self.log)}
        if times:
            timestamp = data.draw(st.integers(min(times) - 2, max(times) + 2))
            found = self.log.fetch_offset_by_timestamp(timestamp)
            fitting = [each for each in records_of(self.log) if each.timestamp >= timestamp]
            wanted = (fitting[0].timestamp, fitting[0].offset) if fitting else None
            assert (found and found[:2]) == wanted


TestLogAndList = LogAndList.TestCase
TestLogAndList.settings = settings(
    max_examples=25,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
