"""The log manager with real threads: what blocks runs in them, what changes state does not."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.log import Log
from kafkalike.log.log_manager import LogManager
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.utils.blocking import run_blocking_on
from kafkalike.utils.time import Time
from tests.support.log_builder import a_batch, append, values_of
from tests.support.loopback import Loopback
from tests.support.run import result_of, start

PARTITIONS = 12


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    loopback = Loopback()
    loopback.start_threads()
    yield loopback
    loopback.close()


def make_manager(loopback: Loopback, directory: Path) -> LogManager:
    config = BrokerConfig(
        log_dirs=f"{directory}/a,{directory}/b", num_recovery_threads_per_data_dir=3
    )
    return LogManager(config, Time(loopback.reactor), run_blocking_on(loopback.reactor))


def finish(loopback: Loopback, coroutine: object) -> None:
    deferred = start(coroutine)  # type: ignore[arg-type]
    loopback.turn_until(lambda: deferred.called)
    result_of(deferred)


def are_flushed(logs: list[Log]) -> bool:
    return all(log.recovery_point == log.log_end_offset for log in logs)


def test_logs_are_loaded_flushed_and_closed_in_threads(loopback: Loopback, tmp_path: Path) -> None:
    """M1: over several directories and threads, twice."""
    for generation in range(3):
        manager = make_manager(loopback, tmp_path)
        finish(loopback, manager.startup({}))
        for number in range(PARTITIONS):
            log = manager.get_or_create_log(
                TopicPartition("orders", number), TopicConfig(), topic_id=None, is_new=True
            )
            assert values_of(log) == [b"%d" % n for n in range(generation)]
            append(log, a_batch([b"%d" % generation]))
            log.roll(0)
        logs = manager.all_logs
        loopback.turn_until(partial(are_flushed, logs))
        finish(loopback, manager.flush(manager.all_logs[0]))
        finish(loopback, manager.shutdown())
    assert (tmp_path / "a" / ".kafka_cleanshutdown").exists()


def test_log_is_deleted_in_a_thread(loopback: Loopback, tmp_path: Path) -> None:
    manager = make_manager(loopback, tmp_path)
    manager.default_config = TopicConfig(file_delete_delay_ms=0)
    finish(loopback, manager.startup({}))
    tp = TopicPartition("orders", 0)
    log = manager.get_or_create_log(tp, TopicConfig(), topic_id=None, is_new=True)
    manager.async_delete(tp)
    loopback.turn_until(lambda: not log.directory.exists())
    finish(loopback, manager.shutdown())
