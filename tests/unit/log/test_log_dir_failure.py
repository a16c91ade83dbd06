"""A failed disk takes its own partitions offline and no others.

Failures are real: descriptors are pointed at devices that refuse, files are replaced by folders.
"""

import os
from pathlib import Path

import pytest
from twisted.internet.task import Clock

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.fetch_data_info import FetchIsolation
from kafkalike.log.log import Log
from kafkalike.log.log_manager import LogManager
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import KafkaStorageError
from kafkalike.utils.time import Time
from tests.support.log_builder import NOW_MS, a_batch, append, run_at_once, values_of
from tests.support.run import run


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.advance(NOW_MS / 1000)
    return clock


@pytest.fixture
def dirs(tmp_path: Path) -> list[Path]:
    return [tmp_path / "a", tmp_path / "b"]


@pytest.fixture
def failed() -> list[Path]:
    return []


@pytest.fixture
def manager(dirs: list[Path], clock: Clock, failed: list[Path]) -> LogManager:
    """Logs 0 and 2 are in the first directory, 1 and 3 in the second."""
    config = BrokerConfig(log_dirs=",".join(map(str, dirs)))

    def on_failure(path: Path) -> None:
        failed.append(path)
        manager.handle_log_dir_failure(path)

    manager = LogManager(config, Time(clock), run_at_once, on_log_dir_failure=on_failure)
    run(manager.startup({}))
    for partition in range(4):
        append(create(manager, partition), a_batch([b"%d" % partition]))
    return manager


def create(manager: LogManager, partition: int, *, is_new: bool = True) -> Log:
    tp = TopicPartition("orders", partition)
    config = TopicConfig(segment_bytes=200)
    return manager.get_or_create_log(tp, config, topic_id=None, is_new=is_new)


def log_of(manager: LogManager, partition: int) -> Log:
    log = manager.get_log(TopicPartition("orders", partition))
    assert log is not None
    return log


def break_file(log: Log, device: str) -> None:
    """Point the open `.log` file at a device."""
    fd = os.open(device, os.O_RDWR if device != "/" else os.O_RDONLY)
    os.dup2(fd, log.active_segment.log.fileno())
    os.close(fd)


def assert_only_first_is_offline(
    manager: LogManager, clock: Clock, dirs: list[Path], failed: list[Path]
) -> None:
    clock.advance(0)
    assert failed == [dirs[0]]
    assert manager.live_log_dirs == [dirs[1]]
    assert manager.offline_log_dirs == [dirs[0]]
    assert {log.tp.partition for log in manager.all_logs} == {1, 3}
    for partition in (1, 3):
        log = log_of(manager, partition)
        append(log, a_batch([b"still"]))
        assert values_of(log) == [b"%d" % partition, b"still"]


def test_full_disk_takes_the_directory_offline(
    manager: LogManager, clock: Clock, dirs: list[Path], failed: list[Path]
) -> None:
    log = log_of(manager, 0)
    break_file(log, "/dev/full")
    with pytest.raises(KafkaStorageError, match=f"appending records to orders-0 in dir {dirs[0]}"):
        append(log, a_batch())
    assert log.log_end_offset == 1
    with pytest.raises(KafkaStorageError, match="offline"):
        log.read(0, 100, FetchIsolation.LOG_END, min_one_message=True)
    assert_only_first_is_offline(manager, clock, dirs, failed)


def test_unreadable_file_takes_the_directory_offline(
    manager: LogManager, clock: Clock, dirs: list[Path], failed: list[Path]
) -> None:
    log = log_of(manager, 2)
    append(log, a_batch())
    break_file(log, "/")
    with pytest.raises(KafkaStorageError, match="reading from orders-2"):
        log.read(0, 100, FetchIsolation.LOG_END, min_one_message=True)
    assert_only_first_is_offline(manager, clock, dirs, failed)


def test_failed_flush_takes_the_directory_offline(
    manager: LogManager, clock: Clock, dirs: list[Path], failed: list[Path]
) -> None:
    log = log_of(manager, 0)
    break_file(log, "/dev/null")
    with pytest.raises(KafkaStorageError, match="flushing log for orders-0"):
        run(manager.flush(log))
    assert log.recovery_point == 0
    assert_only_first_is_offline(manager, clock, dirs, failed)


def test_failed_flush_of_a_rolled_segment_takes_the_directory_offline(
    manager: LogManager, clock: Clock, dirs: list[Path], failed: list[Path]
) -> None:
    log = log_of(manager, 0)
    break_file(log, "/dev/null")
    log.active_segment.log.size_in_bytes = 0
    log.roll(NOW_MS)
    assert_only_first_is_offline(manager, clock, dirs, failed)


def test_failed_checkpoint_takes_the_directory_offline(
    manager: LogManager, clock: Clock, dirs: list[Path], failed: list[Path]
) -> None:
    (dirs[0] / "recovery-point-offset-checkpoint.tmp").mkdir()
    clock.advance(30)
    assert_only_first_is_offline(manager, clock, dirs, failed)


def test_failed_deletion_takes_the_directory_offline(
    manager: LogManager, clock: Clock, dirs: list[Path], failed: list[Path]
) -> None:
    log = log_of(manager, 0)
    manager.async_delete(log.tp)
    blocker = log.directory / "00000000000000000000.log.deleted"
    (blocker / "x").mkdir(parents=True)
    clock.advance(60)
    assert_only_first_is_offline(manager, clock, dirs, failed)


def test_failure_is_told_once(
    manager: LogManager, clock: Clock, dirs: list[Path], failed: list[Path]
) -> None:
    logs = [log_of(manager, 0), log_of(manager, 2)]
    for log in logs:
        break_file(log, "/dev/full")
        for _ in range(2):
            with pytest.raises(KafkaStorageError):
                append(log, a_batch())
    assert_only_first_is_offline(manager, clock, dirs, failed)


def test_new_logs_go_to_the_directories_that_are_left(
    manager: LogManager, clock: Clock, dirs: list[Path]
) -> None:
    manager.handle_log_dir_failure(dirs[0])
    assert create(manager, 7).parent_dir == dirs[1]
    with pytest.raises(KafkaStorageError, match=f"{dirs[0]} are offline"):
        create(manager, 0, is_new=False)
    with pytest.raises(KafkaStorageError, match="may be in one of the offline directories"):
        manager.async_delete(TopicPartition("orders", 0))


def test_directory_that_refuses_a_new_log_fails_and_the_next_is_tried(
    manager: LogManager, clock: Clock, dirs: list[Path], failed: list[Path]
) -> None:
    (dirs[0] / "orders-9").write_text("in the way")
    assert create(manager, 9).parent_dir == dirs[1]
    clock.advance(0)
    assert failed == [dirs[0]]


def test_last_directory_leaves_none(manager: LogManager, clock: Clock, dirs: list[Path]) -> None:
    """The owner ends the broker then."""
    for path in dirs:
        manager.handle_log_dir_failure(path)
    assert manager.live_log_dirs == []
    assert manager.all_logs == []
    with pytest.raises(KafkaStorageError, match="No log directories available"):
        create(manager, 9)


def test_failed_directory_gets_no_clean_shutdown_marker(
    manager: LogManager, clock: Clock, dirs: list[Path]
) -> None:
    manager.handle_log_dir_failure(dirs[0])
    run(manager.shutdown())
    assert not (dirs[0] / ".kafka_cleanshutdown").exists()
    assert (dirs[1] / ".kafka_cleanshutdown").exists()


def test_disk_that_fails_during_shutdown_gets_no_marker(
    manager: LogManager, dirs: list[Path]
) -> None:
    break_file(log_of(manager, 0), "/dev/null")
    run(manager.shutdown())
    assert not (dirs[0] / ".kafka_cleanshutdown").exists()
    assert (dirs[1] / ".kafka_cleanshutdown").exists()


def start(dirs: list[Path], clock: Clock, failed: list[Path]) -> LogManager:
    config = BrokerConfig(log_dirs=",".join(map(str, dirs)))
    manager = LogManager(config, Time(clock), run_at_once, on_log_dir_failure=failed.append)
    run(manager.startup({}))
    clock.advance(0)
    return manager


def test_directory_that_cannot_be_created_is_offline_from_the_start(
    tmp_path: Path, clock: Clock, failed: list[Path]
) -> None:
    (tmp_path / "file").write_text("no folder")
    dirs = [tmp_path / "file" / "a", tmp_path / "b"]
    manager = start(dirs, clock, failed)
    assert (failed, manager.live_log_dirs) == ([dirs[0]], [dirs[1]])
    assert create(manager, 0).parent_dir == dirs[1]


def test_directory_with_an_unreadable_log_is_offline_from_the_start(
    manager: LogManager, dirs: list[Path], clock: Clock, failed: list[Path]
) -> None:
    run(manager.shutdown())
    (dirs[0] / "orders-2" / "leader-epoch-checkpoint").unlink()
    (dirs[0] / "orders-2" / "leader-epoch-checkpoint").mkdir()
    again = start(dirs, clock, failed)
    assert (failed, again.live_log_dirs) == ([dirs[0]], [dirs[1]])
    assert {log.tp.partition for log in again.all_logs} == {1, 3}


def test_broker_does_not_start_without_any_directory(
    tmp_path: Path, clock: Clock, failed: list[Path]
) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(OSError, match="None of the specified log dirs"):
        start([tmp_path / "file" / "a"], clock, failed)


def test_retention_goes_on_with_other_logs_when_one_fails(
    manager: LogManager, clock: Clock, dirs: list[Path], failed: list[Path]
) -> None:
    for partition in range(4):
        log_of(manager, partition).update_config(TopicConfig(retention_ms=1))
    # The segment cannot be renamed where a folder is in the way.
    blocker = log_of(manager, 0).directory / "00000000000000000000.log.deleted"
    (blocker / "x").mkdir(parents=True)
    clock.advance(30)
    clock.advance(0)
    assert failed == [dirs[0]]
    assert [log.log_start_offset for log in manager.all_logs] == [1, 1]


def test_move_from_a_failing_disk_leaves_the_new_log(
    manager: LogManager, clock: Clock, dirs: list[Path]
) -> None:
    source = log_of(manager, 0)
    future = manager.get_or_create_log(
        source.tp, TopicConfig(), topic_id=None, is_new=False, is_future=True, preferred_dir=dirs[1]
    )
    break_file(source, "/dev/full")
    with pytest.raises(KafkaStorageError):
        append(source, a_batch())
    with pytest.raises(KafkaStorageError, match="offline"):
        manager.replace_current_with_future_log(source.tp)
    clock.advance(0)
    assert manager.get_log(source.tp) is future
    assert append(future, a_batch()).first_offset == 0
