"""Several log directories, and one that fails: its partitions go, the broker stays (KIP-112)."""

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from tests.support import wire
from tests.support.broker import Broker
from tests.support.new_broker import NewBroker, connect_to
from tests.support.waiting import wait_until

pytestmark = pytest.mark.ensemble

DISK_BYTES = 4 << 20
PARTITIONS = 4


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mount file systems of 4 MiB, which are soon full: `small_disk("name")`."""
    mounted: list[Path] = []

    def mount(name: str) -> Path:
        directory = tmp_path / name
        directory.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(directory)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no small file system to fill: {done.stderr.strip()}")
        mounted.append(directory)
        return directory

    if os.geteuid():
        pytest.skip("only root may mount a small file system to fill")
    yield mount
    for directory in mounted:
        subprocess.run(["umount", "-l", str(directory)], check=True)


def _partitions_in(directory: Path, topic: str) -> list[int]:
    found = (path.name.removeprefix(f"{topic}-") for path in directory.glob(f"{topic}-*"))
    return sorted(int(number) for number in found if number.isdigit())


def _fill(broker: Broker, topic: str, partition: int) -> ErrorCode:
    """Write until the disk of the partition is full; returns the error that tells it."""
    with connect_to(broker) as client:
        for _ in range(2 * DISK_BYTES // 500_000):
            records = wire.batch(os.urandom(500_000))
            answer = wire.produce(client, topic, records, partition=partition)
            if answer.error_code:
                return ErrorCode(answer.error_code)
    raise AssertionError("the disk did not fill")


def test_partitions_are_spread_over_the_directories(new_broker: NewBroker, tmp_path: Path) -> None:
    """M2: the next one goes where the fewest are; each directory has its own checkpoints."""
    directories = [tmp_path / name for name in "abc"]
    properties = {"log.dirs": ",".join(map(str, directories))}
    broker = new_broker(properties=properties)
    with connect_to(broker) as client:
        topic = wire.create_topic(client, partitions=6)
        for partition in range(6):
            wire.append(client, topic, b"value", partition=partition)
    assert [len(_partitions_in(directory, topic)) for directory in directories] == [2, 2, 2]
    broker.restart()
    with connect_to(broker) as client:
        wait_until(lambda: wire.is_led(client, topic, 6), 20, "leaders")
        for partition in range(6):
            assert len(wire.read_all(client, topic, partition=partition)) == 1


def test_full_disk_takes_its_partitions_offline_and_not_the_broker(
    new_broker: NewBroker, small_disk: Callable[[str], Path], tmp_path: Path
) -> None:
    good, bad = tmp_path / "good", small_disk("bad")
    broker = new_broker(properties={"log.dirs": f"{good},{bad}"})
    with connect_to(broker) as client:
        topic = wire.create_topic(client, partitions=PARTITIONS)
        for partition in range(PARTITIONS):
            wire.append(client, topic, b"before", partition=partition)
        lost, kept = _partitions_in(bad, topic), _partitions_in(good, topic)
        assert (len(lost), len(kept)) == (2, 2)
        assert _fill(broker, topic, lost[0]) is ErrorCode.KAFKA_STORAGE_ERROR
        for partition in lost:
            answer = wire.produce(client, topic, wire.batch(b"no"), partition=partition)
            assert answer.error_code in (
                ErrorCode.KAFKA_STORAGE_ERROR,
                ErrorCode.NOT_LEADER_OR_FOLLOWER,
            )
            assert wire.fetch(client, topic, 0, partition=partition).error_code
        for partition in kept:
            assert wire.append(client, topic, b"after", partition=partition) == 1
            assert len(wire.read_all(client, topic, partition=partition)) == 2
        errors = {
            result.log_dir: ErrorCode(result.error_code)
            for result in client.send(DescribeLogDirsRequest(topics=None)).results
        }
        assert errors[str(good)] is ErrorCode.NONE
        assert errors[str(bad)] is ErrorCode.KAFKA_STORAGE_ERROR

        def are_leaderless() -> bool:
            told = wire.metadata(client, topic).partitions
            return sorted(p.partition_index for p in told if p.leader_id == -1) == lost

        wait_until(are_leaderless, 15, "the controller to know")
    assert f"log directory {bad} failed" in broker.log_text()
    assert broker.is_alive


def test_partitions_are_back_when_the_disk_is_mended(
    new_broker: NewBroker, small_disk: Callable[[str], Path], tmp_path: Path
) -> None:
    good, bad = tmp_path / "good", small_disk("bad")
    broker = new_broker(properties={"log.dirs": f"{good},{bad}"})
    with connect_to(broker) as client:
        topic = wire.create_topic(client, partitions=PARTITIONS)
        for partition in range(PARTITIONS):
            wire.append(client, topic, b"before", partition=partition)
    lost = _partitions_in(bad, topic)[0]
    assert _fill(broker, topic, lost) is ErrorCode.KAFKA_STORAGE_ERROR
    assert broker.terminate() == 0
    subprocess.run(["mount", "-o", "remount,size=64m", str(bad)], check=True)
    broker.start()
    with connect_to(broker) as client:
        wait_until(lambda: wire.is_led(client, topic, PARTITIONS), 20, "leaders of all partitions")
        records = wire.read_all(client, topic, partition=lost)
        assert records[0].value == b"before"
        assert [record.offset for record in records] == list(range(len(records)))
        assert wire.append(client, topic, b"after", partition=lost) == len(records)


def test_directory_that_cannot_be_used_is_left_out_at_the_start(
    new_broker: NewBroker, tmp_path: Path
) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    bad.write_text("a file where a directory should be")
    broker = new_broker(properties={"log.dirs": f"{good},{bad}"})
    with connect_to(broker) as client:
        topic = wire.create_topic(client, partitions=2)
        assert _partitions_in(good, topic) == [0, 1]
        wire.append(client, topic, b"value")
    assert str(bad) in broker.log_text()


def test_broker_ends_when_no_directory_is_left(
    new_broker: NewBroker, small_disk: Callable[[str], Path]
) -> None:
    """It cannot keep anything any more: another broker has to take over."""
    broker = new_broker(properties={"log.dirs": str(small_disk("only"))})
    with connect_to(broker) as client:
        topic = wire.create_topic(client)
    with contextlib.suppress(EOFError, OSError):  # It may end before it can answer.
        _fill(broker, topic, 0)
    assert broker.wait(30) == 1
    assert "all log directories (log.dirs) have failed" in broker.log_text()
