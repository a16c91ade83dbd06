"""Reading a partition of an internal topic in turns."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from kafkalike.coordinator.partition_reading import read_partition
from kafkalike.log.log import Log
from kafkalike.protocol.records.record_batch import BatchHeader, Buffer
from kafkalike.utils.time import Time
from tests.support.log_builder import a_batch, append, open_log, run_at_once
from tests.support.run import result_of, start


class Turns(Time):
    """Time in which others have a turn until the test says so."""

    def __init__(self) -> None:
        super().__init__(Clock())
        self.waiting: Deferred[None] = Deferred()

    def sleep_ms(self, delay_ms: float) -> "Deferred[None]":
        assert delay_ms == 0
        self.waiting = Deferred()
        return self.waiting


class Reading:
    """A read of a log, turn by turn."""

    def __init__(self, log: Log | None, buffer_bytes: int = 1 << 20) -> None:
        self._time = Turns()
        self.log = log
        self.is_wanted = True
        self.read: list[int] = []
        self.turns = 0
        self._done: Deferred[None] = start(
            read_partition(
                lambda: self.log,
                self._add,
                lambda: self.is_wanted,
                buffer_bytes=buffer_bytes,
                time=self._time,
                run_blocking=run_at_once,
            )
        )

    def _add(self, data: Buffer, position: int, header: BatchHeader) -> Iterator[None]:
        self.read.append(header.base_offset)
        for _ in range(header.record_count):
            yield

    def turn(self) -> None:
        self.turns += 1
        self._time.waiting.callback(None)

    def finish(self) -> list[int]:
        while not self._done.called:
            self.turn()
            assert self.turns < 10_000
        result_of(self._done)
        return self.read


@pytest.fixture
def log(tmp_path: Path) -> Log:
    made = open_log(tmp_path / "internal-0", segment_bytes=20_000)
    for number in range(1000):
        append(made, a_batch([b"value %d" % number] * 2))
    return made


@pytest.mark.parametrize("buffer_bytes", [1, 500, 5_000, 1 << 20])
def test_every_batch_is_read_once_and_in_order(log: Log, buffer_bytes: int) -> None:
    assert Reading(log, buffer_bytes).finish() == list(range(0, 2000, 2))


def test_others_get_a_turn(log: Log) -> None:
    reading = Reading(log)
    reading.finish()
    assert reading.turns > 2


def test_reading_begins_at_the_start_of_the_log(log: Log) -> None:
    log.maybe_increment_log_start_offset(1000)
    assert Reading(log).finish() == list(range(1000, 2000, 2))


def test_empty_log_has_nothing(tmp_path: Path) -> None:
    assert Reading(open_log(tmp_path / "internal-1")).finish() == []


def test_log_that_is_not_here_has_nothing() -> None:
    assert Reading(None).finish() == []


def test_reading_ends_when_nobody_wants_it_any_more(log: Log) -> None:
    reading = Reading(log, buffer_bytes=500)
    reading.turn()
    reading.turn()
    reading.is_wanted = False
    assert 0 < len(reading.finish()) < 200


def test_reading_ends_when_the_log_goes_away(log: Log) -> None:
    reading = Reading(log, buffer_bytes=500)
    reading.turn()
    reading.log = None
    assert 0 < len(reading.finish()) < 200


def test_others_get_a_turn_within_a_large_batch_too(tmp_path: Path) -> None:
    """A group may commit the offsets of thousands of partitions at once."""
    log = open_log(tmp_path / "internal-2")
    append(log, a_batch([b"value"] * 1000))
    reading = Reading(log)
    assert reading.finish() == [0]
    assert reading.turns == 11


def test_what_is_appended_meanwhile_is_read_too(log: Log) -> None:
    reading = Reading(log, buffer_bytes=500)
    reading.turn()
    append(log, a_batch([b"late"]))
    assert reading.finish()[-1] == 2000
