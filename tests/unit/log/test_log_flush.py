"""Flushes: what is promised to be on the disk, and when."""

import errno
from pathlib import Path

import pytest

from kafkalike.log.log import Log
from kafkalike.log.log_environment import FlushJob, LogEnvironment
from kafkalike.log.log_flush import LogFlush
from kafkalike.protocol.errors import KafkaStorageError
from tests.support.log_builder import NOW_MS, a_batch, append, open_log


def test_flush_raises_the_recovery_point(tmp_path: Path) -> None:
    log = open_log(tmp_path / "orders-0")
    append(log, a_batch([b"a", b"b"]))
    assert log.recovery_point == 0
    log.flush(NOW_MS + 5)
    assert (log.recovery_point, log.last_flush_ms) == (2, NOW_MS + 5)
    assert log.prepare_flush() is None


def test_flush_up_to_an_offset_promises_no_more(tmp_path: Path) -> None:
    log = open_log(tmp_path / "orders-0")
    for _ in range(3):
        append(log, a_batch())
    log.flush(NOW_MS, 2)
    assert log.recovery_point == 2


def test_recovery_point_does_not_move_before_the_fsyncs_are_done(tmp_path: Path) -> None:
    log = open_log(tmp_path / "orders-0")
    append(log, a_batch())
    job = log.prepare_flush()
    assert job is not None
    append(log, a_batch())
    job.run()
    assert log.recovery_point == 0
    job.complete(NOW_MS)
    assert log.recovery_point == 1


def test_flush_messages_makes_the_caller_flush_before_it_answers(tmp_path: Path) -> None:
    log = open_log(tmp_path / "orders-0", flush_messages=3)
    assert not append(log, a_batch([b"a", b"b"])).is_flush_due
    assert append(log, a_batch([b"c"])).is_flush_due
    log.flush(NOW_MS)
    assert not append(log, a_batch([b"d"])).is_flush_due


def test_flush_is_due_when_flush_ms_have_passed(tmp_path: Path) -> None:
    log = open_log(tmp_path / "orders-0", flush_ms=1000)
    assert not log.is_flush_due(NOW_MS + 999)
    assert log.is_flush_due(NOW_MS + 1000)
    append(log, a_batch())
    log.flush(NOW_MS + 1000)
    assert not log.is_flush_due(NOW_MS + 1001)


def test_rolled_segment_is_flushed_later(tmp_path: Path) -> None:
    jobs: list[FlushJob] = []
    log = open_log(
        tmp_path / "orders-0",
        environment=LogEnvironment(flush_later=jobs.append),
        segment_bytes=100,
    )
    append(log, a_batch())
    append(log, a_batch())
    (job,) = jobs
    assert log.recovery_point == 0
    job.run()
    job.complete(NOW_MS)
    assert log.recovery_point == 1


def test_flush_of_a_deleted_segment_still_works(tmp_path: Path) -> None:
    jobs: list[FlushJob] = []
    log = open_log(
        tmp_path / "orders-0",
        environment=LogEnvironment(flush_later=jobs.append),
        segment_bytes=100,
    )
    for _ in range(3):
        append(log, a_batch())
    log.maybe_increment_log_start_offset(2)
    assert log.delete_old_segments(NOW_MS) == 2
    for job in jobs:
        job.run()
        job.complete(NOW_MS)
    assert log.recovery_point == 2


def test_log_in_a_renamed_directory_can_be_flushed(tmp_path: Path) -> None:
    log = open_log(tmp_path / "orders-0", segment_bytes=100)
    append(log, a_batch())
    log.take_producer_snapshot()
    log.rename_dir("orders-0.00000000000000000000000000000000-delete")
    append(log, a_batch(), leader_epoch=1)
    log.flush(NOW_MS)
    assert log.recovery_point == 2


class FailingFlush(LogFlush):
    def run(self) -> None:
        raise OSError(errno.EIO, "no such luck")


def test_failed_flush_takes_the_directory_offline(tmp_path: Path) -> None:
    failures: list[tuple[Path, str]] = []
    environment = LogEnvironment(
        on_storage_failure=lambda log_dir, message, error: failures.append((log_dir, message))
    )
    log: Log = open_log(tmp_path / "orders-0", environment=environment)
    append(log, a_batch())
    job = log.prepare_flush()
    assert job is not None
    job.__class__ = FailingFlush
    with pytest.raises(OSError, match="no such luck") as failure:
        job.run()
    assert isinstance(job.fail(failure.value), KafkaStorageError)
    assert failures == [
        (tmp_path, f"Error while flushing log for orders-0 in dir {tmp_path} with offset 1")
    ]
    with pytest.raises(KafkaStorageError, match="offline"):
        append(log, a_batch())
    assert log.recovery_point == 0
