"""Replicas move between log directories, in steps, while the world goes on."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from kafkalike.cluster.metadata_cache import MetadataCache
from kafkalike.cluster.partition import Partition, PartitionState
from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.log import Log
from kafkalike.log.log_manager import LogManager
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import LogDirNotFoundError, UnknownTopicOrPartitionError
from kafkalike.replication.log_dir_mover import LogDirMover
from kafkalike.replication.replica_manager import ReplicaManager
from kafkalike.utils.time import Time
from tests.support.log_builder import a_batch, append, run_at_once, values_of
from tests.support.log_observer import FailureObserver
from tests.support.run import run, start

T = TypeVar("T")
TP = TopicPartition("t", 0)
OTHER = TopicPartition("t", 1)


class World:
    """A broker's logs in two directories. Reads wait in `reads` while `is_slow`."""

    def __init__(self, directory: Path) -> None:
        self.a, self.b = directory / "a", directory / "b"
        self.clock = Clock()
        self.time = Time(self.clock)
        self.is_slow = False
        self.reads: list[Callable[[], None]] = []
        self.rate = float("inf")
        self.start()

    def start(self) -> None:
        config = BrokerConfig.from_properties(
            {"zookeeper.connect": "zk:2181", "log.dirs": f"{self.a},{self.b}"}
        )
        self.logs = LogManager(config, self.time, run_at_once)
        run(self.logs.startup({}))
        self.replicas = ReplicaManager(1, self.time, MetadataCache(), run_at_once)
        self.mover = LogDirMover(
            self.replicas, self.logs, self.run_blocking, self.time, lambda: self.rate
        )

    def stop(self) -> None:
        self.mover.shutdown()
        run(self.logs.shutdown())

    def run_blocking(self, call: Callable[..., T], *args: Any) -> Awaitable[T]:
        if not self.is_slow:
            return run_at_once(call, *args)
        done: Deferred[None] = Deferred()

        async def later() -> T:
            await done
            return call(*args)

        self.reads.append(lambda: done.callback(None))
        return start(later())

    def lead(self, tp: TopicPartition = TP, epoch: int = 0, **settings: Any) -> Log:
        config = TopicConfig(**settings)
        log = self.logs.get_or_create_log(
            tp, config, topic_id=None, is_new=True, preferred_dir=self.a
        )
        partition = Partition(tp, 1, None)
        partition.log = log
        partition.make_leader(PartitionState(1, epoch, (1,), 0, (1,)), self.time.now_ms())
        self.replicas.partitions[tp] = partition
        return log

    def move(self, tp: TopicPartition = TP, to: Path | None = None) -> None:
        self.mover.alter_replica_log_dir(tp, str(to or self.b))

    def log(self, tp: TopicPartition = TP) -> Log:
        log = self.replicas.get_log(tp)
        assert log is not None
        assert self.logs.get_log(tp) is log
        return log

    def future(self, tp: TopicPartition = TP) -> Log | None:
        return self.logs.get_log(tp, is_future=True)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    started = World(tmp_path)
    yield started
    started.stop()


def _fill(log: Log, count: int, size: int = 10, *, leader_epoch: int = 0) -> list[bytes]:
    values = [f"{i}".encode().rjust(size, b".") for i in range(count)]
    for value in values:
        append(log, a_batch([value]), leader_epoch=leader_epoch)
    return values


def test_replica_with_all_its_records_is_in_the_new_directory(world: World) -> None:
    values = _fill(world.lead(), 20)
    world.move()
    log = world.log()
    assert log.parent_dir == world.b
    assert not log.is_future
    assert values_of(log) == values
    assert (log.log_end_offset, log.high_watermark) == (20, 20)
    assert world.future() is None


def test_moved_replica_takes_appends_and_the_old_directory_is_emptied(world: World) -> None:
    _fill(world.lead(), 3)
    world.move()
    append(world.log(), a_batch([b"more"]))
    assert values_of(world.log())[-1] == b"more"
    world.clock.advance(61)
    assert not list(world.a.glob("t-0*"))


def test_segments_are_rolled_as_the_topic_wants(world: World) -> None:
    values = _fill(world.lead(segment_bytes=500), 50, 60)
    world.move()
    assert values_of(world.log()) == values
    assert len(list(world.log().segments)) > 5


def test_large_replica_moves_in_steps_and_appends_go_on_meanwhile(world: World) -> None:
    log = world.lead()
    values = _fill(log, 40, 100_000)
    world.move()
    assert world.log() is log
    future = world.future()
    assert future is not None
    assert 0 < future.log_end_offset < 40
    append(log, a_batch([b"while moving"]))
    for _ in range(10):
        world.clock.advance(0)
    assert world.log().parent_dir == world.b
    assert values_of(world.log()) == [*values, b"while moving"]


def test_speed_can_be_limited(world: World) -> None:
    world.rate = 1_000_000
    _fill(world.lead(), 40, 100_000)
    world.move()
    world.clock.advance(0.5)
    future = world.future()
    assert future is not None
    before = future.log_end_offset
    world.clock.advance(1.0)
    assert before < future.log_end_offset < 40
    world.clock.pump([1.0] * 5)
    assert world.log().parent_dir == world.b


def test_log_start_offset_moves_too(world: World) -> None:
    log = world.lead()
    values = _fill(log, 10)
    log.maybe_increment_log_start_offset(4)
    world.move()
    moved = world.log()
    assert (moved.log_start_offset, moved.log_end_offset) == (4, 10)
    assert values_of(moved) == values[4:]


def test_producers_are_known_in_the_new_directory(world: World) -> None:
    log = world.lead()
    append(log, a_batch([b"a"], producer_id=7))
    world.move()
    duplicate = append(world.log(), a_batch([b"a"], producer_id=7))
    assert duplicate.last_offset == 0
    assert world.log().log_end_offset == 1


def test_leader_epochs_move_too(world: World) -> None:
    log = world.lead()
    _fill(log, 2, leader_epoch=0)
    log.maybe_assign_epoch_start_offset(3, 2)
    _fill(log, 2, leader_epoch=3)
    world.move()
    assert world.log().end_offset_for_epoch(0) == (2, 0)
    assert world.log().latest_epoch == 3


def test_truncation_meanwhile_is_followed(world: World) -> None:
    log = world.lead()
    values = _fill(log, 40, 100_000)
    world.move()
    world.is_slow = True
    world.clock.advance(0)
    (read,) = world.reads
    log.truncate_to(5, 0)
    log.maybe_assign_epoch_start_offset(1, 5)
    append(log, a_batch([b"of another epoch"]), leader_epoch=1)
    world.is_slow = False
    read()
    for _ in range(10):
        world.clock.advance(0)
    assert world.log().parent_dir == world.b
    assert values_of(world.log()) == [*values[:5], b"of another epoch"]


def test_records_that_retention_took_meanwhile_are_not_missed(world: World) -> None:
    log = world.lead()
    values = _fill(log, 40, 100_000)
    world.move()
    log.maybe_increment_log_start_offset(30)
    for _ in range(10):
        world.clock.advance(0)
    assert world.log().parent_dir == world.b
    assert values_of(world.log()) == values[30:]


def test_same_directory_is_no_move(world: World) -> None:
    log = world.lead()
    world.move(to=world.a)
    assert world.log() is log
    assert world.future() is None


def test_move_back_gives_the_first_move_up(world: World) -> None:
    log = world.lead()
    _fill(log, 40, 100_000)
    world.move()
    assert world.future() is not None
    world.move(to=world.a)
    world.clock.pump([0.01] * 10)
    assert world.log() is log
    assert world.future() is None


def test_one_partition_moves_at_a_time(world: World) -> None:
    for tp in (TP, OTHER):
        _fill(world.lead(tp), 20, 100_000)
        world.move(tp)
    other = world.future(OTHER)
    assert other is not None
    assert other.log_end_offset == 0
    for _ in range(10):
        world.clock.advance(0)
    assert [world.log(tp).parent_dir for tp in (TP, OTHER)] == [world.b, world.b]


def test_replica_that_is_deleted_meanwhile_does_not_hold_the_others_up(world: World) -> None:
    for tp in (TP, OTHER):
        _fill(world.lead(tp), 20, 100_000)
        world.move(tp)
    del world.replicas.partitions[TP]
    world.logs.async_delete(TP)
    world.logs.async_delete(TP, is_future=True)
    for _ in range(10):
        world.clock.advance(0)
    assert world.log(OTHER).parent_dir == world.b


def test_interrupted_move_goes_on_after_a_restart(world: World) -> None:
    values = _fill(world.lead(), 40, 100_000)
    world.move()
    world.stop()
    world.start()
    world.mover.resume()
    assert world.future() is not None
    world.lead()
    world.mover.resume()
    for _ in range(10):
        world.clock.advance(0)
    assert world.log().parent_dir == world.b
    assert values_of(world.log()) == values


def test_failing_disk_ends_the_move_and_keeps_the_replica(world: World) -> None:
    log = world.lead()
    _fill(log, 40, 100_000)
    world.move()
    world.logs.handle_log_dir_failure(world.b)
    for _ in range(10):
        world.clock.advance(0)
    assert world.log() is log


def test_bug_of_ours_ends_one_move_and_not_the_others(
    world: World, logged_failures: FailureObserver
) -> None:
    def broken(call: Callable[..., Any], *args: Any) -> Awaitable[Any]:
        world.mover._run_blocking = world.run_blocking
        raise RuntimeError("not today")

    for tp in (TP, OTHER):
        _fill(world.lead(tp), 1)
    world.mover._run_blocking = broken  # type: ignore[assignment]
    world.move(TP)
    world.move(OTHER)
    assert "not today" in logged_failures.expect()[0]
    assert world.log(TP).parent_dir == world.a
    assert world.log(OTHER).parent_dir == world.b


def test_unknown_directory_and_unknown_replica_are_refused(world: World) -> None:
    with pytest.raises(LogDirNotFoundError):
        world.move(to=world.a / "nested")
    with pytest.raises(UnknownTopicOrPartitionError):
        world.move(OTHER)
    assert world.lead(OTHER).parent_dir == world.a
