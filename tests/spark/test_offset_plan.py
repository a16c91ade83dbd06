"""How much is read, and by how many tasks."""

from hypothesis import given
from hypothesis import strategies as st

from kafkalike.model.topic_partition import TopicPartition
from spark_pipeline.datasource.offset_plan import (
    OffsetRange,
    fetch_bytes,
    limit_rows,
    ranges_between,
    split_ranges,
)

A0, A1, A2 = (TopicPartition("a", number) for number in range(3))


def sizes(ranges: list[OffsetRange]) -> list[tuple[int, int, int]]:
    return [(found.partition, found.start, found.end) for found in ranges]


def test_ranges_lie_between_two_ends() -> None:
    assert ranges_between({A0: 5, A1: 7, A2: 9}, {A1: 7, A0: 8, A2: 8}) == [
        OffsetRange("a", 0, 5, 8)
    ]


def test_limit_is_shared_by_what_there_is_to_read() -> None:
    end = limit_rows({A0: 0, A1: 100, A2: 3}, {A0: 300, A1: 200, A2: 3}, 40)
    assert end == {A0: 30, A1: 110, A2: 3}


def test_small_partition_does_not_starve_beside_a_large_one() -> None:
    assert limit_rows({A0: 0, A1: 0}, {A0: 1_000_000, A1: 1}, 10) == {A0: 9, A1: 1}


def test_limit_above_what_is_there_changes_nothing() -> None:
    assert limit_rows({A0: 0}, {A0: 5, A1: 3}, 100) == {A0: 5, A1: 3}
    assert limit_rows({A0: 5}, {A0: 5}, 1) == {A0: 5}


def test_ranges_are_left_alone_if_there_are_enough() -> None:
    two = [OffsetRange("a", 0, 0, 10), OffsetRange("a", 1, 0, 1), OffsetRange("a", 2, 4, 4)]
    assert split_ranges(two) == two[:2]
    assert split_ranges(two, 2) == two[:2]


def test_large_ranges_are_cut_and_small_ones_stay_whole() -> None:
    """The figures are those of Spark's own KafkaOffsetRangeCalculator."""
    ranges = [OffsetRange("a", 0, 0, 5), OffsetRange("a", 1, 0, 1)]
    assert sizes(split_ranges([ranges[0]], 3)) == [(0, 0, 1), (0, 1, 3), (0, 3, 5)]
    assert len(split_ranges([OffsetRange("a", 0, 0, 10_000), ranges[1]], 6)) == 6
    even = [OffsetRange("a", number, 0, 100) for number in range(3)]
    assert sizes(split_ranges(even, 6)) == [
        (0, 0, 50),
        (0, 50, 100),
        (1, 0, 50),
        (1, 50, 100),
        (2, 0, 50),
        (2, 50, 100),
    ]


def test_no_range_has_more_than_the_most() -> None:
    found = split_ranges([OffsetRange("a", 0, 0, 10), OffsetRange("a", 1, 0, 4)], None, 4)
    assert sizes(found) == [(0, 0, 3), (0, 3, 6), (0, 6, 10), (1, 0, 4)]


@given(
    st.lists(st.integers(0, 10_000), min_size=1, max_size=6),
    st.one_of(st.none(), st.integers(1, 40)),
    st.one_of(st.none(), st.integers(1, 500)),
)
def test_every_offset_is_in_exactly_one_range(
    lengths: list[int], min_partitions: int | None, max_records: int | None
) -> None:
    whole = [OffsetRange("a", number, 7, 7 + length) for number, length in enumerate(lengths)]
    found = split_ranges(whole, min_partitions, max_records)
    for wanted in whole:
        parts = sorted(part for part in found if part.partition == wanted.partition)
        edges = [wanted.start, *(part.end for part in parts)]
        assert [part.start for part in parts] == edges[:-1]
        assert edges[-1] == wanted.end
    assert max_records is None or all(part.size <= max_records for part in found)


def test_a_fetch_asks_for_what_is_left_and_no_more() -> None:
    assert fetch_bytes(1_000_000, None, 8 << 20) == 8 << 20
    assert fetch_bytes(10, None, 8 << 20) == 64 << 10
    assert fetch_bytes(1000, 500.0, 8 << 20) == 550_000
    assert fetch_bytes(1000, 500.0, 1000) == 1000
