"""From two ends to ranges, and what was lost in between."""

from collections.abc import Iterable

import pytest

from kafkalike.model.topic_partition import TopicPartition
from spark_pipeline.datasource.errors import DataLossError
from spark_pipeline.datasource.offset_plan import OffsetRange
from spark_pipeline.datasource.offset_spec import Offsets
from spark_pipeline.datasource.offsets import checked_range
from spark_pipeline.datasource.stream_ranges import batch_ranges

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


def ranges(start: Offsets, end: Offsets, first: int = 0, *, is_fatal: bool) -> list[OffsetRange]:
    def earliest(partitions: Iterable[TopicPartition]) -> Offsets:
        return dict.fromkeys(partitions, first)

    return batch_ranges(start, end, earliest, is_fatal=is_fatal)


def test_new_partition_is_read_from_its_beginning() -> None:
    assert ranges({A0: 3}, {A0: 5, A1: 2}, is_fatal=True) == [
        OffsetRange("a", 0, 3, 5),
        OffsetRange("a", 1, 0, 2),
    ]


@pytest.mark.parametrize(
    ("start", "end", "first", "said"),
    [
        ({A0: 3, A1: 4}, {A0: 5}, 0, "a-1 does not exist any more"),
        ({A0: 3}, {A0: 5, A1: 9}, 4, "a-1 is new, but begins at offset 4"),
        ({A0: 30}, {A0: 5}, 0, "a-0 was read up to offset 30 and now ends at 5"),
    ],
)
def test_lost_records_fail_the_query_unless_told(
    start: Offsets, end: Offsets, first: int, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(DataLossError, match=f"{said}.*failOnDataLoss"):
        ranges(start, end, first, is_fatal=True)
    left = ranges(start, end, first, is_fatal=False)
    assert all(found.start < found.end for found in left)
    assert said in caplog.text


def test_range_outside_of_the_log_fails_the_query_unless_told() -> None:
    whole = OffsetRange("a", 0, 10, 20)
    assert checked_range(whole, 0, 20, is_fatal=True) == whole
    with pytest.raises(DataLossError, match=r"a-0: offsets 10 to 15 are gone.* begins at 15"):
        checked_range(whole, 15, 20, is_fatal=True)
    with pytest.raises(DataLossError, match=r"a-0: offsets up to 20 .* ends at 12"):
        checked_range(whole, 0, 12, is_fatal=True)
    assert checked_range(whole, 15, 20, is_fatal=False) == OffsetRange("a", 0, 15, 20)
    assert checked_range(whole, 30, 40, is_fatal=False) is None
