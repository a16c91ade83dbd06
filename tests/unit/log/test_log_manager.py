"""The log manager: directories, logs, restarts, deletion, moves, what recurs. Time is a Clock."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import Clock

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.errors import LogDirLockedError
from kafkalike.log.log import Log
from kafkalike.log.log_manager import LogManager
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    InconsistentTopicIdError,
    InvalidConfigurationError,
    KafkaStorageError,
    LogDirNotFoundError,
)
from kafkalike.utils.time import Time
from tests.support.log_builder import NOW_MS, a_batch, append, batches_of, run_at_once, values_of
from tests.support.run import run

TP = TopicPartition("orders", 3)
TOPIC_ID = bytes(range(16))
MakeManager = Callable[..., LogManager]
RARE_CHECKPOINTS = {
    "log_flush_offset_checkpoint_interval_ms": 1 << 60,
    "log_flush_start_offset_checkpoint_interval_ms": 1 << 60,
}


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.advance(NOW_MS / 1000)
    return clock


@pytest.fixture
def dirs(tmp_path: Path) -> list[Path]:
    return [tmp_path / "a", tmp_path / "b"]


@pytest.fixture
def make_manager(dirs: list[Path], clock: Clock) -> MakeManager:
    def make(topic_configs: dict[str, TopicConfig] | None = None, **settings: Any) -> LogManager:
        settings.setdefault("log_dirs", ",".join(map(str, dirs)))
        manager = LogManager(BrokerConfig(**settings), Time(clock), run_at_once)
        run(manager.startup(topic_configs or {}))
        return manager

    return make


@pytest.fixture
def manager(make_manager: MakeManager) -> LogManager:
    return make_manager()


def create(manager: LogManager, tp: TopicPartition = TP, **settings: Any) -> Log:
    return manager.get_or_create_log(tp, TopicConfig(**settings), topic_id=TOPIC_ID, is_new=True)


def crash(dirs: list[Path]) -> str:
    """Return `log.dirs` as they are found after the process has died."""
    for path in dirs:
        shutil.copytree(path, path.with_name(f"{path.name}-after"))
    return ",".join(f"{path}-after" for path in dirs)


# --- create and find


def test_log_lies_in_a_directory_named_after_its_partition(
    manager: LogManager, dirs: list[Path]
) -> None:
    """M2: `<topic>-<partition>` in one of `log.dirs`."""
    log = create(manager)
    assert log.directory == dirs[0] / "orders-3"
    assert manager.get_log(TP) is log
    assert create(manager) is log
    assert manager.get_log(TopicPartition("orders", 4)) is None
    assert (dirs[0] / "orders-3" / "partition.metadata").read_text() == (
        "version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"
    )


def test_next_log_goes_where_the_fewest_are(manager: LogManager, dirs: list[Path]) -> None:
    logs = [create(manager, TopicPartition("orders", number)) for number in range(5)]
    assert sorted(log.parent_dir for log in logs) == [dirs[0]] * 3 + [dirs[1]] * 2
    assert manager.logs_in_dir(dirs[1]) == [log for log in logs if log.parent_dir == dirs[1]]


def test_preferred_directory_is_used_once(manager: LogManager, dirs: list[Path]) -> None:
    manager.maybe_update_preferred_log_dir(TP, dirs[1])
    assert create(manager).parent_dir == dirs[1]
    manager.maybe_update_preferred_log_dir(TP, dirs[1])
    run_later = TopicPartition("other", 0)
    assert create(manager, run_later).parent_dir == dirs[0]


def test_other_topic_id_is_refused(manager: LogManager) -> None:
    create(manager)
    with pytest.raises(InconsistentTopicIdError):
        manager.get_or_create_log(TP, TopicConfig(), topic_id=b"x" * 16, is_new=False)


def test_topic_id_is_not_kept_before_protocol_2_8(make_manager: MakeManager) -> None:
    manager = make_manager(inter_broker_protocol_version="2.7")
    log = create(manager)
    assert log.topic_id is None
    assert not (log.directory / "partition.metadata").exists()


def test_config_of_a_topic_reaches_all_its_logs(manager: LogManager) -> None:
    logs = [create(manager, TopicPartition("orders", number)) for number in range(2)]
    other = create(manager, TopicPartition("other", 0))
    manager.update_topic_config("orders", TopicConfig(segment_bytes=77))
    assert [log.config.segment_bytes for log in logs] == [77, 77]
    assert other.config.segment_bytes == 1 << 30


def test_same_directory_twice_is_refused(tmp_path: Path, make_manager: MakeManager) -> None:
    with pytest.raises(InvalidConfigurationError, match="Duplicate log directory"):
        make_manager(log_dirs=f"{tmp_path}/x,{tmp_path}/y/../x")


def test_directory_of_another_broker_is_refused(
    manager: LogManager, make_manager: MakeManager, dirs: list[Path]
) -> None:
    with pytest.raises(LogDirLockedError, match=str(dirs[0])):
        make_manager()
    run(manager.shutdown())
    make_manager()


def test_unknown_log_dir_is_named(manager: LogManager, tmp_path: Path) -> None:
    with pytest.raises(LogDirNotFoundError, match="nowhere"):
        manager.is_log_dir_online(tmp_path / "nowhere")


# --- restart


def test_everything_is_there_after_a_clean_restart(
    manager: LogManager, make_manager: MakeManager, dirs: list[Path]
) -> None:
    """M1: and the marker of the clean shutdown is gone as soon as it was used."""
    for number in range(4):
        append(create(manager, TopicPartition("orders", number)), a_batch([b"%d" % number] * 2))
    run(manager.shutdown())
    assert all((path / ".kafka_cleanshutdown").exists() for path in dirs)
    again = make_manager()
    assert not any((path / ".kafka_cleanshutdown").exists() for path in dirs)
    for number in range(4):
        log = again.get_log(TopicPartition("orders", number))
        assert log is not None
        assert values_of(log) == [b"%d" % number] * 2
        assert log.recovery_point == 2
        assert log.topic_id == TOPIC_ID


def test_everything_is_there_after_a_crash(
    manager: LogManager, make_manager: MakeManager, dirs: list[Path]
) -> None:
    log = create(manager)
    append(log, a_batch([b"kept"]))
    with log.active_segment.log.path.open("ab") as file:
        file.write(bytes(a_batch([b"torn"])[:-3]))
    again = make_manager(log_dirs=crash(dirs)).get_log(TP)
    assert again is not None
    assert values_of(again) == [b"kept"]


def test_log_start_offsets_survive_a_clean_restart(
    manager: LogManager, make_manager: MakeManager, dirs: list[Path]
) -> None:
    log = create(manager)
    append(log, a_batch([b"a", b"b", b"c"]))
    log.maybe_increment_log_start_offset(2)
    run(manager.shutdown())
    assert (dirs[0] / "log-start-offset-checkpoint").read_text() == "0\n1\norders 3 2\n"
    assert (dirs[0] / "recovery-point-offset-checkpoint").read_text() == "0\n1\norders 3 3\n"
    again = make_manager().get_log(TP)
    assert again is not None
    assert values_of(again) == [b"c"]


def test_topics_have_their_own_config_after_a_restart(
    manager: LogManager, make_manager: MakeManager
) -> None:
    create(manager)
    create(manager, TopicPartition("other", 0))
    run(manager.shutdown())
    again = make_manager({"orders": TopicConfig(segment_bytes=99)}, log_segment_bytes=1000)
    assert {log.tp.topic: log.config.segment_bytes for log in again.all_logs} == {
        "orders": 99,
        "other": 1000,
    }


def test_corrupt_checkpoints_cost_a_recovery_and_no_data(
    manager: LogManager, make_manager: MakeManager, dirs: list[Path]
) -> None:
    append(create(manager), a_batch([b"v"]))
    (dirs[0] / "recovery-point-offset-checkpoint").write_bytes(b"\xff\xfe rubbish")
    (dirs[0] / "log-start-offset-checkpoint").write_text("7\nx\n")
    again = make_manager(log_dirs=crash(dirs)).get_log(TP)
    assert again is not None
    assert values_of(again) == [b"v"]


def test_directory_that_is_no_log_is_named(
    manager: LogManager, make_manager: MakeManager, dirs: list[Path]
) -> None:
    run(manager.shutdown())
    (dirs[0] / "lost+found").mkdir()
    with pytest.raises(ValueError, match=r"lost\+found.* not in the form of topic-partition"):
        make_manager()


def test_same_log_in_two_directories_is_named(
    manager: LogManager, make_manager: MakeManager, dirs: list[Path]
) -> None:
    create(manager)
    run(manager.shutdown())
    (dirs[1] / "orders-3").mkdir()
    with pytest.raises(ValueError, match="Duplicate log directories for orders-3"):
        make_manager()


@pytest.mark.parametrize("threads", [1, 3])
def test_many_logs_are_loaded_in_several_threads(make_manager: MakeManager, threads: int) -> None:
    manager = make_manager(num_recovery_threads_per_data_dir=threads)
    for number in range(20):
        append(create(manager, TopicPartition("t", number)), a_batch([b"%d" % number]))
    run(manager.shutdown())
    again = make_manager(num_recovery_threads_per_data_dir=threads)
    assert sorted(values_of(log)[0] for log in again.all_logs) == sorted(
        b"%d" % number for number in range(20)
    )


# --- delete


def test_deleted_log_is_gone_at_once_and_its_files_later(
    manager: LogManager, clock: Clock, dirs: list[Path]
) -> None:
    append(create(manager), a_batch())
    deleted = manager.async_delete(TP)
    assert deleted is not None
    assert manager.get_log(TP) is None
    assert not (dirs[0] / "orders-3").exists()
    assert deleted.directory.name.endswith("-delete")
    clock.advance(59)
    assert deleted.directory.exists()
    clock.advance(1)
    assert not deleted.directory.exists()
    assert create(manager).log_end_offset == 0


def test_log_that_waits_for_deletion_goes_after_a_restart(
    manager: LogManager, make_manager: MakeManager, clock: Clock
) -> None:
    create(manager)
    deleted = manager.async_delete(TP)
    assert deleted is not None
    run(manager.shutdown())
    again = make_manager()
    assert again.all_logs == []
    assert deleted.directory.exists()
    clock.advance(60)
    assert not deleted.directory.exists()


def test_deleting_what_is_not_there_is_no_error(manager: LogManager) -> None:
    assert manager.async_delete(TP) is None


# --- move to another directory


def test_future_log_takes_the_place_of_the_current_one(
    manager: LogManager, make_manager: MakeManager, clock: Clock, dirs: list[Path]
) -> None:
    source = create(manager)
    append(source, a_batch([b"a", b"b"]))
    future = manager.get_or_create_log(
        TP, TopicConfig(), topic_id=TOPIC_ID, is_new=False, is_future=True, preferred_dir=dirs[1]
    )
    assert future.is_future
    assert future.directory.name.endswith("-future")
    assert manager.get_log(TP, is_future=True) is future
    for _, batch in batches_of(source):
        future.append_as_follower(memoryview(batch), NOW_MS)
    assert manager.replace_current_with_future_log(TP) is future
    assert manager.get_log(TP) is future
    assert manager.get_log(TP, is_future=True) is None
    assert (future.directory, future.high_watermark) == (dirs[1] / "orders-3", 2)
    assert source.directory.parent == dirs[0]
    append(future, a_batch([b"c"]))
    clock.advance(60)
    assert not source.directory.exists()
    run(manager.shutdown())
    again = make_manager().get_log(TP)
    assert again is not None
    assert values_of(again) == [b"a", b"b", b"c"]


def test_future_log_is_loaded_as_such(
    manager: LogManager, make_manager: MakeManager, dirs: list[Path]
) -> None:
    create(manager)
    manager.get_or_create_log(
        TP, TopicConfig(), topic_id=None, is_new=False, is_future=True, preferred_dir=dirs[1]
    )
    run(manager.shutdown())
    again = make_manager()
    future = again.get_log(TP, is_future=True)
    assert future is not None
    assert future.parent_dir == dirs[1]
    assert again.async_delete(TP, is_future=True) is future


def test_future_log_needs_another_directory(manager: LogManager, dirs: list[Path]) -> None:
    create(manager)
    with pytest.raises(ValueError, match="preferred log directory"):
        manager.get_or_create_log(
            TP, TopicConfig(), topic_id=None, is_new=False, is_future=True, preferred_dir=dirs[0]
        )
    with pytest.raises(KafkaStorageError, match="future replica"):
        manager.replace_current_with_future_log(TP)


# --- what recurs


def test_retention_runs_by_itself_and_a_week_is_the_default(
    make_manager: MakeManager, clock: Clock
) -> None:
    """M9: a record is there for seven days, and gone within five minutes after."""
    log = create(make_manager(**RARE_CHECKPOINTS))
    append(log, a_batch([b"old"]))
    week_s = 7 * 24 * 3600
    clock.pump([3600] * (week_s // 3600))
    assert values_of(log) == [b"old"]
    clock.pump([60] * 6)
    assert values_of(log) == []
    assert (log.log_start_offset, log.log_end_offset) == (1, 1)
    clock.pump([60])
    assert not list(log.directory.glob("*.deleted"))


def test_recovery_points_and_log_starts_are_written_every_minute(
    manager: LogManager, clock: Clock, dirs: list[Path]
) -> None:
    log = create(manager)
    append(log, a_batch([b"a", b"b"]))
    log.maybe_increment_log_start_offset(1)
    log.flush(NOW_MS)
    clock.advance(30)
    assert (dirs[0] / "recovery-point-offset-checkpoint").read_text() == "0\n1\norders 3 2\n"
    assert (dirs[0] / "log-start-offset-checkpoint").read_text() == "0\n1\norders 3 1\n"
    append(log, a_batch([b"c"]))
    log.flush(NOW_MS)
    clock.advance(60)
    assert (dirs[0] / "recovery-point-offset-checkpoint").read_text() == "0\n1\norders 3 3\n"


def test_flusher_follows_flush_ms(make_manager: MakeManager, clock: Clock) -> None:
    manager = make_manager(log_flush_scheduler_interval_ms=1000)
    often, never = create(manager, flush_ms=5000), create(manager, TopicPartition("never", 0))
    append(often, a_batch())
    append(never, a_batch())
    clock.pump([1] * 31)
    assert (often.recovery_point, never.recovery_point) == (1, 0)


def test_silent_producers_expire(make_manager: MakeManager, clock: Clock) -> None:
    log = create(make_manager(**RARE_CHECKPOINTS), retention_ms=-1)
    append(log, a_batch(producer_id=9))
    clock.pump([3600] * (7 * 24 - 1))
    assert log.producer_state.last_entry(9) is not None
    clock.pump([600] * 7)
    assert log.producer_state.last_entry(9) is None


def test_truncation_is_written_down(manager: LogManager, dirs: list[Path]) -> None:
    log = create(manager)
    append(log, a_batch([b"a", b"b"]))
    append(log, a_batch([b"c"]))
    log.flush(NOW_MS)
    manager.truncate_to({TP: 2, TopicPartition("no", 0): 1})
    assert log.log_end_offset == 2
    assert (dirs[0] / "recovery-point-offset-checkpoint").read_text() == "0\n1\norders 3 2\n"
    manager.truncate_fully_and_start_at(TP, 10)
    assert log.log_end_offset == 10


def test_flush_of_one_log_is_awaited(manager: LogManager) -> None:
    log = create(manager)
    append(log, a_batch())
    run(manager.flush(log))
    assert log.recovery_point == 1


def test_nothing_is_left_to_do_after_shutdown(manager: LogManager, clock: Clock) -> None:
    create(manager)
    manager.async_delete(TP)
    run(manager.shutdown())
    assert clock.getDelayedCalls() == []


def test_reactor_gets_its_turn_between_many_logs(make_manager: MakeManager, clock: Clock) -> None:
    manager = make_manager(**RARE_CHECKPOINTS)
    for number in range(120):
        append(create(manager, TopicPartition("t", number), retention_ms=1), a_batch())
    seen = []
    clock.callLater(30, lambda: seen.append(sum(log.log_start_offset for log in manager.all_logs)))
    clock.advance(30)
    assert seen == [50]
    assert sum(log.log_start_offset for log in manager.all_logs) == 120


def test_each_directory_has_a_file_for_high_watermarks(
    manager: LogManager, dirs: list[Path]
) -> None:
    checkpoint = manager.high_watermark_checkpoint(dirs[1])
    checkpoint.write({TP: 4})
    assert (dirs[1] / "replication-offset-checkpoint").read_text() == "0\n1\norders 3 4\n"


def test_topic_id_is_forgotten_by_an_older_protocol_version(
    manager: LogManager, make_manager: MakeManager
) -> None:
    log = create(manager)
    run(manager.shutdown())
    again = make_manager(inter_broker_protocol_version="2.7").get_log(TP)
    assert again is not None
    assert again.topic_id is None
    assert not (log.directory / "partition.metadata").exists()


def test_directory_known_to_be_bad_is_not_used(dirs: list[Path], clock: Clock) -> None:
    config = BrokerConfig(log_dirs=",".join(map(str, dirs)))
    manager = LogManager(config, Time(clock), run_at_once)
    run(manager.startup({}, [dirs[0]]))
    assert manager.live_log_dirs == [dirs[1]]
    assert create(manager).parent_dir == dirs[1]
