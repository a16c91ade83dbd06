"""The log manager and its cleaner together: start, stop, back-off, truncation, deletion, moves."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.log import Log
from kafkalike.log.log_manager import LogManager
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.utils.time import Time
from tests.support.log_builder import NOW_MS, records_of, run_at_once
from tests.support.log_cleaning import COMPACT, pairs_of, put
from tests.support.run import run, start

TP = TopicPartition("orders", 0)
UPDATES = [(b"a", b"1"), (b"b", b"2"), (b"a", b"3")]
LATEST = [(1, b"b", b"2"), (2, b"a", b"3")]
BACKOFF_MS = 15_000


class Threads:
    """A thread pool in which, if `is_held`, work waits until the test lets it go on."""

    def __init__(self) -> None:
        self.is_held = False
        self.waiting: list[Callable[[], None]] = []

    def __call__(self, call: Callable[..., Any], *args: Any) -> Awaitable[Any]:
        if not self.is_held:
            return run_at_once(call, *args)
        done: Deferred[Any] = Deferred()

        def go_on() -> None:
            try:
                done.callback(call(*args))
            except Exception:  # noqa: BLE001 (as threads do)
                done.errback()

        self.waiting.append(go_on)
        return done

    def go_on(self) -> None:
        waiting, self.waiting = self.waiting, []
        for each in waiting:
            each()


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.advance(NOW_MS / 1000)
    return clock


@pytest.fixture
def threads() -> Threads:
    return Threads()


@pytest.fixture
def make_manager(
    tmp_path: Path, clock: Clock, threads: Threads
) -> Iterator[Callable[..., LogManager]]:
    made: list[LogManager] = []

    def make(**settings: Any) -> LogManager:
        dirs = f"{tmp_path / 'a'},{tmp_path / 'b'}"
        config = BrokerConfig(log_dirs=dirs, **settings)
        manager = LogManager(config, Time(clock), threads)
        run(manager.startup({"orders": TopicConfig(**COMPACT)}))
        made.append(manager)
        return manager

    yield make
    threads.is_held = False
    threads.go_on()
    for manager in made:
        start(manager.shutdown())
        clock.pump([0.01] * 20)


@pytest.fixture
def manager(make_manager: Callable[..., LogManager]) -> LogManager:
    return make_manager()


def a_log(manager: LogManager, **settings: Any) -> Log:
    config = TopicConfig(**{**COMPACT, **settings})
    log = manager.get_or_create_log(TP, config, topic_id=None, is_new=True)
    put(log, *UPDATES)
    log.roll(NOW_MS)
    return log


def pass_time(clock: Clock, ms: int) -> None:
    """Let time pass, and the cleaner do what it does in small pauses."""
    clock.advance(ms / 1000)
    clock.pump([0.002] * 45)


def checkpoint(log: Log) -> str:
    path = log.parent_dir / "cleaner-offset-checkpoint"
    return path.read_text() if path.exists() else ""


def test_logs_are_cleaned_after_the_back_off(manager: LogManager, clock: Clock) -> None:
    log = a_log(manager)
    pass_time(clock, BACKOFF_MS - 500)
    assert len(records_of(log)) == 3
    pass_time(clock, 500)
    assert pairs_of(records_of(log)) == LATEST
    assert checkpoint(log) == "0\n1\norders 0 3\n"
    assert manager.cleaner.manager.states.get(TP) is None


def test_one_log_after_the_other_is_cleaned_without_a_pause(
    manager: LogManager, clock: Clock
) -> None:
    logs = []
    for partition in range(5):
        tp = TopicPartition("orders", partition)
        config = TopicConfig(**COMPACT)
        logs.append(manager.get_or_create_log(tp, config, topic_id=None, is_new=True))
        put(logs[-1], *UPDATES)
        logs[-1].roll(NOW_MS)
    pass_time(clock, BACKOFF_MS)
    assert [len(records_of(log)) for log in logs] == [2] * 5


def test_disabled_cleaner_does_nothing(
    make_manager: Callable[..., LogManager], clock: Clock
) -> None:
    manager = make_manager(log_cleaner_enable=False)
    log = a_log(manager)
    log.maybe_increment_log_start_offset(2)
    pass_time(clock, 10 * BACKOFF_MS)
    assert log.segments.first.base_offset == 0
    assert not checkpoint(log)


def test_changed_back_off_holds_at_once(manager: LogManager, clock: Clock) -> None:
    log = a_log(manager)
    manager.reconfigure(BrokerConfig(log_cleaner_backoff_ms=100))
    pass_time(clock, 0)
    assert pairs_of(records_of(log)) == LATEST
    put(log, *UPDATES)
    log.roll(NOW_MS)
    pass_time(clock, 100)
    assert [record.offset for record in records_of(log)] == [4, 5]


def test_unchanged_settings_do_not_wake_it(manager: LogManager, clock: Clock) -> None:
    log = a_log(manager)
    manager.reconfigure(BrokerConfig(num_partitions=7))
    pass_time(clock, 0)
    assert len(records_of(log)) == 3


@pytest.mark.parametrize("slices", range(4))
def test_shutdown_waits_for_the_thread_and_leaves_a_whole_log(
    manager: LogManager, clock: Clock, threads: Threads, slices: int
) -> None:
    """Wherever the cleaner is: before, in and between its slices."""
    log = a_log(manager)
    threads.is_held = True
    pass_time(clock, BACKOFF_MS)
    for _ in range(slices):
        threads.go_on()
        pass_time(clock, 0)
    assert threads.waiting
    stopped = start(manager.shutdown())
    assert not stopped.called
    threads.is_held = False
    while not stopped.called:
        threads.go_on()
        pass_time(clock, 0)
    assert not list(log.directory.glob("*.cleaned"))
    assert not list(log.directory.glob("*.swap"))
    assert (log.parent_dir / ".kafka_cleanshutdown").exists()


def test_shutdown_writes_the_checkpoint_down(
    manager: LogManager, clock: Clock, threads: Threads
) -> None:
    """While an offset is being written another one comes, which waits for its turn."""
    log = a_log(manager)
    threads.is_held = True
    pass_time(clock, BACKOFF_MS)
    cleaning = manager.cleaner.manager
    while cleaning.states.get(TP) is not None:
        threads.go_on()
        if cleaning.states.get(TP) is not None:
            pass_time(clock, 0)
    manager.truncate_to({TP: 1})
    assert not checkpoint(log)
    stopped = start(manager.shutdown())
    threads.is_held = False
    while not stopped.called:
        threads.go_on()
        pass_time(clock, 0)
    assert checkpoint(log) == "0\n1\norders 0 0\n"


def test_log_can_be_used_while_it_is_cleaned(
    manager: LogManager, clock: Clock, threads: Threads
) -> None:
    log = a_log(manager)
    threads.is_held = True
    pass_time(clock, BACKOFF_MS)
    for number in range(20):
        put(log, (b"%d" % number, b"v"))
        assert [record.offset for record in records_of(log)][-1] == log.log_end_offset - 1
        threads.go_on()
        pass_time(clock, 0)
    left = records_of(log)
    assert pairs_of(left)[:2] == LATEST
    assert [record.offset for record in left][2:] == list(range(3, 23))


def test_truncation_while_the_thread_works_wins(
    manager: LogManager, clock: Clock, threads: Threads
) -> None:
    log = a_log(manager, segment_bytes=100)
    threads.is_held = True
    pass_time(clock, BACKOFF_MS)
    assert threads.waiting
    manager.truncate_to({TP: 1})
    threads.is_held = False
    threads.go_on()
    pass_time(clock, 0)
    assert pairs_of(records_of(log)) == [(0, b"a", b"1")]
    assert manager.cleaner.manager.states.get(TP) is None


def test_deletion_while_the_thread_works_wins(
    manager: LogManager, clock: Clock, threads: Threads, tmp_path: Path
) -> None:
    """And the next log of the same name has nothing to do with it."""
    a_log(manager)
    threads.is_held = True
    pass_time(clock, BACKOFF_MS)
    assert threads.waiting
    manager.async_delete(TP)
    again = a_log(manager)
    threads.is_held = False
    threads.go_on()
    pass_time(clock, 0)
    # The cleaner has gone on to the next dirty log, which is the new one.
    assert pairs_of(records_of(again)) == LATEST
    assert not manager.offline_log_dirs
    assert not list(tmp_path.glob("*/orders-0/*.cleaned"))


def test_deleted_log_leaves_the_checkpoint(manager: LogManager, clock: Clock) -> None:
    log = a_log(manager)
    pass_time(clock, BACKOFF_MS)
    assert "orders" in checkpoint(log)
    manager.async_delete(TP)
    pass_time(clock, 0)
    assert checkpoint(log) == "0\n0\n"


def test_moved_log_takes_its_checkpoint_along(
    manager: LogManager, clock: Clock, tmp_path: Path
) -> None:
    log = a_log(manager)
    pass_time(clock, BACKOFF_MS)
    source = log.parent_dir
    (target,) = {tmp_path / "a", tmp_path / "b"} - {source}
    future = manager.get_or_create_log(
        TP,
        TopicConfig(**COMPACT),
        topic_id=None,
        is_new=False,
        is_future=True,
        preferred_dir=target,
    )
    put(log, *UPDATES)
    log.roll(NOW_MS)
    pass_time(clock, BACKOFF_MS)
    # While it moves nobody cleans it.
    assert len(records_of(log)) == 5
    put(future, *UPDATES, *UPDATES)
    future.roll(NOW_MS)
    moved = manager.replace_current_with_future_log(TP)
    pass_time(clock, 0)
    assert checkpoint(moved) == "0\n1\norders 0 3\n"
    assert (source / "cleaner-offset-checkpoint").read_text() == "0\n0\n"
    pass_time(clock, BACKOFF_MS)
    assert [record.offset for record in records_of(moved)] == [4, 5]


def test_failed_directory_does_not_stop_the_others(
    manager: LogManager, clock: Clock, threads: Threads
) -> None:
    log = a_log(manager)
    other_tp = TopicPartition("orders", 1)
    config = TopicConfig(**COMPACT)
    other = manager.get_or_create_log(other_tp, config, topic_id=None, is_new=True)
    put(other, *UPDATES)
    other.roll(NOW_MS)
    assert other.parent_dir != log.parent_dir
    threads.is_held = True
    pass_time(clock, BACKOFF_MS)
    manager.handle_log_dir_failure(log.parent_dir)
    threads.is_held = False
    threads.go_on()
    pass_time(clock, BACKOFF_MS)
    assert pairs_of(records_of(other)) == LATEST


def test_retention_leaves_compacted_logs_to_the_cleaner(
    make_manager: Callable[..., LogManager], clock: Clock
) -> None:
    manager = make_manager(log_cleaner_enable=False, log_retention_check_interval_ms=1000)
    log = a_log(manager, cleanup_policy=("compact", "delete"), retention_ms=1, segment_bytes=100)
    pass_time(clock, 40_000)
    assert len(records_of(log)) == 3
    log.update_config(TopicConfig(**{**COMPACT, "cleanup_policy": ("delete",), "retention_ms": 1}))
    pass_time(clock, 1000)
    assert records_of(log) == []
