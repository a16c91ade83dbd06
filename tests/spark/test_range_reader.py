"""One range of one partition, read through whatever happens to its leader."""

from typing import Any

import pytest

from kafkalike.protocol.errors import ErrorCode, NetworkError
from kafkalike.protocol.messages.fetch import AbortedTransaction
from kafkalike.protocol.records.control_record import ControlRecordType
from spark_pipeline.datasource.errors import DataLossError, DataSourceError, NoProgressError
from spark_pipeline.datasource.offset_plan import OffsetRange
from spark_pipeline.datasource.range_reader import RangeReader
from spark_pipeline.datasource.source_options import parse_source_options
from tests.spark.fake_partition import FakePartition
from tests.spark.record_batches import a_marker, values


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def read(partition: FakePartition, start: int, end: int, **options: str) -> list[tuple[int, bytes]]:
    clock = Clock()
    parsed = parse_source_options(
        {"kafka.bootstrap.servers": "host:1", "subscribe": "t", **options}, is_streaming=False
    )
    cluster: Any = partition  # a fake
    reader = RangeReader(
        OffsetRange("t", 0, start, end), parsed, cluster, clock=clock, sleep=clock.sleep
    )
    return [(row["offset"], row["value"]) for batch in reader.read() for row in batch.to_pylist()]


def three() -> FakePartition:
    return FakePartition(values(0, b"a", b"b"), values(2, b"c", b"d"), values(4, b"e", b"f"))


def test_range_is_read_from_front_to_back() -> None:
    assert read(three(), 1, 5) == [(1, b"b"), (2, b"c"), (3, b"d"), (4, b"e")]


def test_small_portions_give_the_same() -> None:
    partition = three()
    more = {"kafka.max.partition.fetch.bytes": "1"}
    assert len(read(partition, 0, 6, **more)) == 6
    assert [offset for offset, _ in partition.fetched] == [0, 2, 4]


def test_nothing_is_fetched_beyond_the_end() -> None:
    partition = three()
    read(partition, 0, 2, **{"kafka.max.partition.fetch.bytes": "1"})
    assert [offset for offset, _ in partition.fetched] == [0]


@pytest.mark.parametrize(
    "failure",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        NetworkError("gone"),
    ],
)
def test_leader_that_is_lost_is_looked_for_and_nothing_comes_twice(failure: Any) -> None:
    """M46: a change of leaders is survived."""
    partition = three()
    partition.failures = [ErrorCode.NONE, failure, failure]
    found = read(partition, 0, 6, **{"kafka.max.partition.fetch.bytes": "1"})
    assert [offset for offset, _ in found] == [0, 1, 2, 3, 4, 5]
    assert partition.forgotten == 2


def test_leader_that_does_not_come_back_is_an_error_in_the_end() -> None:
    partition = three()
    partition.failures = [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 10_000
    with pytest.raises(NoProgressError, match=r"t-0 at offset 3.*kafkaConsumer.pollTimeoutMs"):
        read(partition, 3, 6, **{"kafkaConsumer.pollTimeoutMs": "5000"})


def test_error_that_does_not_pass_is_told_at_once() -> None:
    partition = three()
    partition.failures = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    with pytest.raises(DataSourceError, match="t-0 offsets 0 to 6"):
        read(partition, 0, 6)


def test_offset_that_is_gone_fails_the_query_unless_told() -> None:
    partition = FakePartition(values(4, b"e", b"f"), start=4)
    with pytest.raises(DataLossError, match=r"t-0: offset 1 is not there.* begins at 4"):
        read(partition, 1, 6)
    assert read(partition, 1, 6, failOnDataLoss="false") == [(4, b"e"), (5, b"f")]
    assert read(partition, 1, 3, failOnDataLoss="false") == []


def test_aborted_records_are_not_read_unless_wanted() -> None:
    """M57: a reader of committed records sees no aborted ones."""
    partition = FakePartition(
        values(0, b"a", b"b", producer_id=7),
        a_marker(2, 7, ControlRecordType.ABORT),
        values(3, b"c", producer_id=7),
        a_marker(4, 7, ControlRecordType.COMMIT),
    )
    partition.aborted = [AbortedTransaction(producer_id=7, first_offset=0)]
    assert read(partition, 0, 5) == [(3, b"c")]
    partition.aborted = []
    more = {"kafka.isolation.level": "read_uncommitted"}
    assert read(partition, 0, 5, **more) == [(0, b"a"), (1, b"b"), (3, b"c")]


def test_gap_that_compaction_left_ends_a_range() -> None:
    partition = FakePartition(values(0, b"a"), values(100, b"b"))
    assert read(partition, 0, 50) == [(0, b"a")]


def test_damaged_batch_is_an_error_that_says_where() -> None:
    data = bytearray(values(0, b"a") + values(1, b"b"))
    data[-2] ^= 1
    with pytest.raises(DataSourceError, match="t-0: a batch at or after offset 0 is damaged"):
        read(FakePartition(bytes(data)), 0, 2)
