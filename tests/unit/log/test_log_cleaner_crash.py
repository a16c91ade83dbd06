"""A crash in any step of a cleaning: the next start finds a whole log and cleans it to the end."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalike.log.log import Log
from kafkalike.protocol.records.record import Record
from tests.support.log_builder import (
    NOW_MS,
    append,
    append_marker,
    batches_of,
    committed_offsets_of,
    open_log,
    records_of,
)
from tests.support.log_builder import a_batch as batch_of
from tests.support.log_cleaning import COMPACT, Cleaning, clean, put

SETTINGS: dict[str, Any] = {
    **COMPACT,
    "segment_bytes": 400,
    "index_interval_bytes": 60,
    "segment_index_bytes": 256,
}


class Disk:
    """Copies a directory before each operation that changes it, as a crash would leave it."""

    def __init__(self, watched: Path, copies: Path) -> None:
        self.watched = watched
        self._copies = copies
        self.states: list[Path] = []
        self._is_copying = False

    def save(self) -> None:
        self._is_copying = True
        self.states.append(self._copies / str(len(self.states)))
        shutil.copytree(self.watched, self.states[-1])
        self._is_copying = False

    def watching(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:
            if not self._is_copying:
                self.save()
            return operation(*args, **kwargs)

        return watched


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path / "data", tmp_path / "copies")


def a_dirty_log(directory: Path) -> Log:
    """Overtaken values, tombstones, transactions that came to either end, several segments."""
    log = open_log(directory / "orders-0", **SETTINGS)
    for number in range(7):
        put(log, (b"%d" % (number % 4), b"value %d" % number), timestamp=NOW_MS + number)
        append(
            log,
            batch_of(
                keys=[b"t%d" % (number % 3)],
                producer_id=5,
                base_sequence=number,
                is_transactional=True,
            ),
        )
        append_marker(log, 5, is_commit=number % 3 > 0)
    put(log, (b"0", None))
    log.roll(NOW_MS)
    log.flush(NOW_MS)
    put(log, (b"active", b"value"))
    return log


def clean_and_save_states(log: Log, disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        for owner, name in (
            (Path, "rename"),
            (Path, "unlink"),
            (os, "fsync"),
            (os, "writev"),
            (os, "ftruncate"),
            (os, "truncate"),
            (os, "utime"),
        ):
            patch.setattr(owner, name, disk.watching(getattr(owner, name)))
        cleaning = Cleaning(log)
        assert cleaning.clean()
        cleaning.close()
    disk.save()


def contents(log: Log) -> list[tuple[Any, ...]]:
    """Everything that a reader can see, batch by batch."""
    return [(header._replace(crc=0), bytes(batch)) for header, batch in batches_of(log)]


def by_offset(records: list[Record]) -> dict[int, Record]:
    return {record.offset: record for record in records}


def committed_table(log: Log) -> dict[bytes | None, bytes | None]:
    records = by_offset(records_of(log))
    table = {records[offset].key: records[offset].value for offset in committed_offsets_of(log)}
    return {key: value for key, value in table.items() if value is not None}


def reload(state: Path, recovery_point: int) -> Log:
    log = open_log(
        state / "orders-0", had_clean_shutdown=False, recovery_point=recovery_point, **SETTINGS
    )
    log.update_high_watermark(log.log_end_offset)
    return log


def after_crashes(states: list[Path], recovery_point: int) -> Iterator[tuple[str, Log]]:
    for state in states:
        yield state.name, reload(state, recovery_point)


def test_crash_in_any_step_of_a_cleaning(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    log = a_dirty_log(disk.watched)
    before, table = by_offset(records_of(log)), committed_table(log)
    end, recovery_point = log.log_end_offset, log.recovery_point
    clean_and_save_states(log, disk, monkeypatch)
    cleaned = contents(log)
    assert len(records_of(log)) < len(before)
    assert len(disk.states) > 40
    suffixes = {path.suffix for state in disk.states for path in state.rglob("*")}
    assert {".cleaned", ".swap", ".deleted"} <= suffixes

    for state, found in after_crashes(disk.states, recovery_point):
        left = by_offset(records_of(found))
        assert found.log_end_offset == end, state
        assert left.items() <= before.items(), state
        assert committed_table(found) == table, state
        assert not [
            path
            for path in found.directory.iterdir()
            if path.suffix
            in suffixes - {".log", ".index", ".timeindex", ".txnindex", ".snapshot", ""}
        ], state
        # What the crash has interrupted is done now, with the same result.
        (found.parent_dir / "cleaner-offset-checkpoint").unlink(missing_ok=True)
        clean(found)
        assert committed_table(found) == table, state
        entry = found.producer_state.last_entry(5)
        assert entry is not None
        assert entry.last_seq == 6, state
        assert by_offset(records_of(found)) == by_offset(records_of(log)), state
    assert contents(log) == cleaned


def test_crash_in_any_step_of_the_crashs_recovery(
    disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recovery of a swap is a swap again: it may be interrupted as well."""
    log = a_dirty_log(disk.watched)
    table, recovery_point = committed_table(log), log.recovery_point
    end = log.log_end_offset
    clean_and_save_states(log, disk, monkeypatch)
    (first,) = [
        state
        for state, following in zip(disk.states, disk.states[1:], strict=False)
        if list(state.rglob("*.log.swap"))
        and not list(state.rglob("*.cleaned"))
        and not list(state.rglob("*.deleted"))
        and list(following.rglob("*.deleted"))
    ][:1]
    again = Disk(first, tmp_path / "again")
    with monkeypatch.context() as patch:
        for owner, name in ((Path, "rename"), (Path, "unlink"), (os, "fsync")):
            patch.setattr(owner, name, again.watching(getattr(owner, name)))
        reload(first, recovery_point)
    assert len(again.states) > 5
    for state, found in after_crashes(again.states, recovery_point):
        assert found.log_end_offset == end, state
        assert committed_table(found) == table, state
