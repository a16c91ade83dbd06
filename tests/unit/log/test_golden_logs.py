"""M1, M3: the log directories that Apache Kafka wrote are read as its own consumer read them."""

import shutil
from pathlib import Path

import pytest
from twisted.internet.task import Clock

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.log import Log
from kafkalike.log.log_manager import LogManager
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.model.uuid import uuid_to_string
from kafkalike.protocol.records.record import NO_TIMESTAMP
from kafkalike.utils.time import Time
from tests.support.golden import LOGDIR, expected_partitions, golden_bytes
from tests.support.log_builder import committed_offsets_of, open_log, records_of, run_at_once
from tests.support.run import run

CAPTURED_S = 1_794_990_000  # the clock of the machine that recorded the files, roughly

FORMATS = {
    "fmt-v0": TopicConfig(message_format_version="0.9.0"),
    "fmt-v1": TopicConfig(message_format_version="0.10.2"),
    "compacted": TopicConfig(cleanup_policy=("compact",)),
    "__consumer_offsets": TopicConfig(cleanup_policy=("compact",)),
    "__transaction_state": TopicConfig(cleanup_policy=("compact",)),
}


def manager_of(*paths: Path) -> LogManager:
    clock = Clock()
    clock.advance(CAPTURED_S)
    config = BrokerConfig(log_dirs=",".join(map(str, paths)))
    manager = LogManager(config, Time(clock), run_at_once)
    run(manager.startup(FORMATS))
    return manager


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("golden") / "clean"
    shutil.copytree(LOGDIR / "clean", target)
    return target


@pytest.fixture(scope="module")
def golden_logs(copied: Path) -> dict[str, Log]:
    manager = manager_of(copied / "data-1a", copied / "data-1b")
    return {str(log.tp): log for log in manager.all_logs}


def assert_as_expected(log: Log, name: str) -> None:
    expected = expected_partitions()[name]
    assert log.log_start_offset == expected["log_start_offset"]
    assert log.log_end_offset == expected["log_end_offset"]
    read = [(*record[:4], list(record.headers)) for record in records_of(log)]
    assert read == [
        (
            record["offset"],
            record["timestamp"] if record["timestamp_type"] else NO_TIMESTAMP,
            golden_bytes(record["key"]),
            golden_bytes(record["value"]),
            [(name, golden_bytes(value)) for name, value in record["headers"]],
        )
        for record in expected["records"]
    ]


@pytest.mark.parametrize("name", sorted(expected_partitions()))
def test_log_reads_exactly_what_kafkas_consumer_read(
    name: str, golden_logs: dict[str, Log]
) -> None:
    """M1, M10: after Kafka's clean shutdown, all codecs and message formats."""
    assert_as_expected(golden_logs[name], name)


@pytest.mark.parametrize("name", sorted(expected_partitions()))
def test_log_reads_the_same_after_a_recovery_of_everything(name: str, tmp_path: Path) -> None:
    """M1: without the marker of a clean shutdown every batch is checked and all indexes rebuilt."""
    (source,) = LOGDIR.glob(f"clean/*/{name}")
    shutil.copytree(source, tmp_path / name)
    expected = expected_partitions()[name]
    log = open_log(
        tmp_path / name,
        config=FORMATS.get(expected["topic"]),
        log_start_offset=expected["log_start_offset"],
        had_clean_shutdown=False,
        now_ms=CAPTURED_S * 1000,
    )
    assert_as_expected(log, name)


def test_copy_of_a_running_log_is_recovered(tmp_path: Path) -> None:
    """M1: indexes of the active segment are still preallocated, as after a kill -9."""
    shutil.copytree(LOGDIR / "live" / "codec-none-0", tmp_path / "codec-none-0")
    log = open_log(tmp_path / "codec-none-0", had_clean_shutdown=False)
    assert_as_expected(log, "codec-none-0")
    assert log.latest_epoch is not None


@pytest.mark.parametrize("name", ["transactional-0", "txn-out-0"])
def test_committed_reads_leave_out_exactly_the_aborted_transactions(
    name: str, golden_logs: dict[str, Log]
) -> None:
    log = golden_logs[name]
    log.update_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == log.log_end_offset
    assert committed_offsets_of(log) == expected_partitions()[name]["read_committed_offsets"]


# Format v0 has no timestamps; markers have, but no consumer sees them.
@pytest.mark.parametrize(
    "name", sorted(expected_partitions().keys() - {"fmt-v0-0", "transactional-0", "txn-out-0"})
)
def test_every_timestamp_finds_the_first_record_that_is_as_new(
    name: str, golden_logs: dict[str, Log]
) -> None:
    """M5: offsets by time, through time indexes that Kafka wrote."""
    records = expected_partitions()[name]["records"]
    for timestamp in sorted({record["timestamp"] for record in records})[::7]:
        found = golden_logs[name].fetch_offset_by_timestamp(timestamp)
        assert found is not None
        assert found.offset == next(
            record["offset"] for record in records if record["timestamp"] >= timestamp
        )


def test_topic_id_comes_from_partition_metadata(golden_logs: dict[str, Log], copied: Path) -> None:
    log = golden_logs["codec-gzip-0"]
    text = (copied / "data-1b/codec-gzip-0/partition.metadata").read_text()
    assert log.topic_id is not None
    assert f"topic_id: {uuid_to_string(log.topic_id)}" in text


def test_opening_and_closing_changes_no_file_that_holds_data(tmp_path: Path) -> None:
    """M6: the bytes of Kafka's segments and indexes are the same after our clean shutdown."""
    shutil.copytree(LOGDIR / "clean", tmp_path / "clean")
    before = contents(tmp_path)
    manager = manager_of(tmp_path / "clean/data-1a", tmp_path / "clean/data-1b")
    run(manager.shutdown())
    after = contents(tmp_path)
    kinds = (".log", ".index", ".timeindex", ".txnindex")
    assert {path: data for path, data in after.items() if path.endswith(kinds)} == {
        path: data for path, data in before.items() if path.endswith(kinds)
    }
    assert "clean/data-1a/.kafka_cleanshutdown" in after


def contents(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_producers_are_known_from_kafkas_snapshots(tmp_path: Path) -> None:
    (source,) = LOGDIR.glob("clean/*/idempotent-0")
    shutil.copytree(source, tmp_path / "idempotent-0")
    log = open_log(tmp_path / "idempotent-0", now_ms=1_600_000_300_000)
    expected = expected_partitions()["idempotent-0"]
    producers = log.producer_state.producers
    assert len(producers) == 2
    assert max(entry.last_data_offset for entry in producers.values()) == 229
    assert sum(entry.last_seq + 1 for entry in producers.values()) == expected["log_end_offset"]


def test_silent_producers_of_a_snapshot_are_forgotten(golden_logs: dict[str, Log]) -> None:
    """Their last records are from 2020, years before the files were captured."""
    assert not golden_logs["idempotent-0"].producer_state.producers


def test_log_start_offset_comes_from_its_checkpoint(golden_logs: dict[str, Log]) -> None:
    assert golden_logs["txn-in-0"].log_start_offset == 10
    assert golden_logs["txn-in-0"].tp == TopicPartition("txn-in", 0)
