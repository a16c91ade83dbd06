"""The small text files of a log directory: checkpoints, epochs, `meta.properties`, topic id."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalike.log.broker_metadata_checkpoint import (
    BrokerMetadata,
    read_all_broker_metadata,
    read_broker_metadata,
    write_broker_metadata,
)
from kafkalike.log.checkpoint import OffsetCheckpointFile
from kafkalike.log.errors import InconsistentBrokerMetadataError
from kafkalike.log.leader_epoch_cache import LeaderEpochCache
from kafkalike.log.log_file_names import (
    log_delete_dir_name,
    log_future_dir_name,
    parse_topic_partition_name,
)
from kafkalike.log.partition_metadata_file import read_partition_metadata, write_partition_metadata
from kafkalike.model.topic_partition import TopicPartition
from tests.support.golden import LOGDIR

GOLDEN = LOGDIR / "clean" / "data-1a"


# --- offsets


def test_checkpoint_has_kafkas_text(tmp_path: Path) -> None:
    file = OffsetCheckpointFile(tmp_path / "checkpoint")
    file.write({TopicPartition("a.b-c_d", 0): 7, TopicPartition("x", 12): 0})
    assert file.path.read_text() == "0\n2\na.b-c_d 0 7\nx 12 0\n"
    assert file.read() == {TopicPartition("a.b-c_d", 0): 7, TopicPartition("x", 12): 0}
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]


@pytest.mark.parametrize("name", ["recovery-point-offset", "replication-offset", "cleaner-offset"])
def test_kafkas_checkpoints_are_read_and_written_back(name: str, tmp_path: Path) -> None:
    source = GOLDEN / f"{name}-checkpoint"
    offsets = OffsetCheckpointFile(source).read()
    OffsetCheckpointFile(tmp_path / "copy").write(offsets)
    assert (tmp_path / "copy").read_text() == source.read_text()


@pytest.mark.parametrize(
    "text",
    ["1\n0\n", "0\n1\n", "0\n2\na 0 1\n", "0\n1\na 0\n", "0\n1\na x 1\n", "0\n1\na 0 1 2\n"],
)
def test_malformed_checkpoint_is_an_io_error_that_names_the_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "checkpoint").write_text(text)
    with pytest.raises(OSError, match="checkpoint"):
        OffsetCheckpointFile(tmp_path / "checkpoint").read()


def test_no_checkpoint_means_no_offsets(tmp_path: Path) -> None:
    assert OffsetCheckpointFile(tmp_path / "none").read() == {}
    (tmp_path / "empty").touch()
    assert OffsetCheckpointFile(tmp_path / "empty").read() == {}


# --- leader epochs


def epochs(directory: Path, *entries: tuple[int, int], end: int = 100) -> LeaderEpochCache:
    cache = LeaderEpochCache(directory, lambda: end)
    for epoch, start_offset in entries:
        cache.assign(epoch, start_offset)
    return cache


def test_epochs_are_kept_in_kafkas_file(tmp_path: Path) -> None:
    cache = epochs(tmp_path, (0, 0), (0, 5), (3, 10))
    assert (tmp_path / "leader-epoch-checkpoint").read_text() == "0\n2\n0 0\n3 10\n"
    assert LeaderEpochCache(tmp_path, lambda: 100).entries == cache.entries


@pytest.mark.parametrize(
    ("requested", "answer"),
    [
        (-1, (-1, -1)),
        (0, (0, 5)),
        (2, (2, 20)),
        (3, (2, 20)),
        (4, (4, 30)),
        (5, (5, 100)),
        (6, (-1, -1)),
    ],
)
def test_end_of_an_epoch_is_the_start_of_the_next(
    tmp_path: Path, requested: int, answer: tuple[int, int]
) -> None:
    cache = epochs(tmp_path, (2, 5), (4, 20), (5, 30))
    assert cache.end_offset_for(requested) == answer


def test_contradicting_epochs_are_forgotten(tmp_path: Path) -> None:
    cache = epochs(tmp_path, (1, 0), (2, 10), (3, 20))
    cache.assign(4, 15)
    assert cache.entries == [(1, 0), (2, 10), (4, 15)]
    cache.assign(2, 12)
    assert cache.entries == [(1, 0), (2, 12)]


def test_epochs_follow_the_ends_of_the_log(tmp_path: Path) -> None:
    cache = epochs(tmp_path, (1, 0), (2, 10), (3, 20))
    cache.truncate_from_start(12)
    assert cache.entries == [(2, 12), (3, 20)]
    cache.truncate_from_end(20)
    assert cache.entries == [(2, 12)]
    assert cache.earliest_entry == (2, 12)
    assert (cache.latest_epoch, cache.previous_epoch) == (2, None)
    assert LeaderEpochCache(tmp_path, lambda: 100).entries == [(2, 12)]


def test_epochs_are_flushed_once_per_change(tmp_path: Path) -> None:
    cache = epochs(tmp_path, (1, 0))
    descriptor = cache.open_for_flush()
    assert descriptor is not None
    os.close(descriptor)
    assert cache.open_for_flush() is None


# --- meta.properties and partition.metadata


def test_kafkas_meta_properties_are_read() -> None:
    metadata = read_broker_metadata(GOLDEN)
    assert metadata is not None
    assert metadata.broker_id == 1
    assert f"cluster.id={metadata.cluster_id}" in (GOLDEN / "meta.properties").read_text()


def test_meta_properties_are_written_as_java_does(tmp_path: Path) -> None:
    write_broker_metadata(tmp_path, BrokerMetadata("abc_-12", 7), 1_700_000_000_000)
    assert (tmp_path / "meta.properties").read_text().splitlines() == [
        "#",
        "#Tue Nov 14 22:13:20 UTC 2023",
        "broker.id=7",
        "version=0",
        "cluster.id=abc_-12",
    ]
    assert read_broker_metadata(tmp_path) == ("abc_-12", 7)


def test_directories_of_different_brokers_are_refused(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / str(number)).mkdir()
        write_broker_metadata(tmp_path / str(number), BrokerMetadata("c", number), 0)
    with pytest.raises(InconsistentBrokerMetadataError, match="not consistent across log"):
        read_all_broker_metadata([tmp_path / "1", tmp_path / "2"])
    assert read_all_broker_metadata([tmp_path / "1", tmp_path / "3"]) == (("c", 1), [])


@pytest.mark.parametrize("text", ["version=9\n", "version=x\n", "version=0\nbroker.id=one\n"])
def test_malformed_meta_properties_take_the_directory_offline(tmp_path: Path, text: str) -> None:
    (tmp_path / "meta.properties").write_text(text)
    assert read_all_broker_metadata([tmp_path]) == ((None, None), [tmp_path])


def test_topic_id_of_kafkas_partition_metadata_is_written_back(tmp_path: Path) -> None:
    source = GOLDEN / "codec-none-0"
    topic_id = read_partition_metadata(source)
    assert topic_id is not None
    write_partition_metadata(tmp_path, topic_id)
    written = (tmp_path / "partition.metadata").read_bytes()
    assert written == (source / "partition.metadata").read_bytes()
    assert read_partition_metadata(tmp_path) == topic_id


@pytest.mark.parametrize(
    "text",
    [
        "version: 1\ntopic_id: AAECAwQFBgcICQoLDA0ODw",
        "version: 0",
        "rubbish",
        "version: 0\ntopic_id: x",
    ],
)
def test_malformed_partition_metadata_is_an_io_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "partition.metadata").write_text(text)
    with pytest.raises(OSError, match=r"partition\.?.metadata"):
        read_partition_metadata(tmp_path)


# --- names of directories

topics = st.from_regex(r"[a-zA-Z0-9._-]{1,249}", fullmatch=True)


@given(topics, st.integers(0, 99999))
def test_directory_names_tell_their_partition(topic: str, partition: int) -> None:
    """M2: `<topic>-<partition>`, with a mark for logs that come or go."""
    tp = TopicPartition(topic, partition)
    assert parse_topic_partition_name(Path(str(tp))) == tp
    assert parse_topic_partition_name(Path(log_future_dir_name(tp))) == tp
    name = log_delete_dir_name(tp)
    assert len(name) <= 255
    found = parse_topic_partition_name(Path(name))
    assert topic.startswith(found.topic)
    assert found.partition == partition


@pytest.mark.parametrize("name", ["lost+found", "orders", "orders-", "-1", "orders-x", "orders-²"])
def test_other_names_are_no_partitions(name: str) -> None:
    with pytest.raises(ValueError, match="not in the form of topic-partition"):
        parse_topic_partition_name(Path(name))
