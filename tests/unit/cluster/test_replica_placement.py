"""Replica placement: Kafka's own examples, and what must hold for any cluster."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalike.cluster.replica_placement import (
    BrokerMetadata,
    assign_replicas_to_brokers,
    rack_alternated_brokers,
)
from kafkalike.protocol.errors import (
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    UnknownServerError,
)

RACKS = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}


def brokers(count: int, racks: dict[int, str] | None = None) -> list[BrokerMetadata]:
    return [BrokerMetadata(i, racks[i] if racks else None) for i in range(count)]


def test_replicas_go_round_the_brokers_with_a_growing_shift() -> None:
    placed = assign_replicas_to_brokers(brokers(5), 10, 3, Random(1), fixed_start_index=0)
    assert placed == {
        0: (0, 1, 2),
        1: (1, 2, 3),
        2: (2, 3, 4),
        3: (3, 4, 0),
        4: (4, 0, 1),
        5: (0, 2, 3),
        6: (1, 3, 4),
        7: (2, 4, 0),
        8: (3, 0, 1),
        9: (4, 1, 2),
    }


def test_brokers_are_listed_alternating_between_racks() -> None:
    assert rack_alternated_brokers(RACKS) == [0, 3, 1, 5, 4, 2]
    assert rack_alternated_brokers({1: "a", 2: "a", 3: "a", 4: "b"}) == [1, 4, 2, 3]


def test_replicas_are_spread_over_racks_as_in_kafka() -> None:
    placed = assign_replicas_to_brokers(brokers(6, RACKS), 12, 3, Random(1), fixed_start_index=0)
    assert placed == {
        0: (0, 3, 1),
        1: (3, 1, 5),
        2: (1, 5, 4),
        3: (5, 4, 2),
        4: (4, 2, 0),
        5: (2, 0, 3),
        6: (0, 4, 2),
        7: (3, 2, 0),
        8: (1, 0, 3),
        9: (5, 3, 1),
        10: (4, 1, 5),
        11: (2, 5, 4),
    }


def test_added_partitions_continue_where_the_topic_ends() -> None:
    whole = assign_replicas_to_brokers(brokers(3), 6, 2, Random(1), fixed_start_index=1)
    added = assign_replicas_to_brokers(
        brokers(3), 3, 2, Random(1), fixed_start_index=1, start_partition_id=3
    )
    assert list(added) == [3, 4, 5]
    assert [replicas[0] for replicas in added.values()] == [whole[p][0] for p in (3, 4, 5)]


def test_start_is_drawn_by_chance() -> None:
    firsts = {
        assign_replicas_to_brokers(brokers(4), 1, 1, Random(seed))[0][0] for seed in range(50)
    }
    assert firsts == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("partitions", "factor", "error"),
    [
        (0, 1, InvalidPartitionsError),
        (1, 0, InvalidReplicationFactorError),
        (1, 4, InvalidReplicationFactorError),
    ],
)
def test_impossible_numbers_are_refused(
    partitions: int, factor: int, error: type[Exception]
) -> None:
    with pytest.raises(error):
        assign_replicas_to_brokers(brokers(3), partitions, factor, Random(1))


def test_brokers_with_and_without_rack_do_not_mix() -> None:
    mixed = [BrokerMetadata(0, "a"), BrokerMetadata(1)]
    with pytest.raises(UnknownServerError, match="rack information"):
        assign_replicas_to_brokers(mixed, 1, 1, Random(1))


@given(st.integers(1, 9), st.integers(1, 4), st.integers(1, 30), st.data(), st.integers(0, 1 << 20))
def test_placement_is_even_and_spreads_racks(
    broker_count: int, rack_count: int, partitions: int, data: st.DataObject, seed: int
) -> None:
    """M15: leaders even within ±1; every replica on its own broker; all racks before one twice."""
    factor = data.draw(st.integers(1, broker_count))
    racks = {i: f"r{data.draw(st.integers(1, rack_count))}" for i in range(broker_count)}
    placed = assign_replicas_to_brokers(
        brokers(broker_count, racks), partitions, factor, Random(seed)
    )
    assert list(placed) == list(range(partitions))
    for replicas in placed.values():
        assert len(set(replicas)) == len(replicas) == factor
        used = {racks[r] for r in replicas}
        assert len(used) == min(factor, len(set(racks.values())))
    firsts = Counter(replicas[0] for replicas in placed.values())
    assert max(firsts.values()) - min(firsts[i] for i in range(broker_count)) <= 1
