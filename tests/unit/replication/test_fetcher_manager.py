"""Which fetcher gets which partition, and when fetchers end."""

from typing import Any

import pytest

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.replication.fetch_state import PartitionFetchState
from kafkalike.replication.fetcher_manager import FetcherManager

A, B, C = (TopicPartition("t", number) for number in range(3))


class FakeFetcher:
    """Notes its partitions; a real one may give some up by itself."""

    def __init__(self, leader: int) -> None:
        self.leader = leader
        self.partitions: dict[TopicPartition, PartitionFetchState] = {}
        self.is_closed = False

    def add_partitions(self, states: dict[TopicPartition, PartitionFetchState]) -> None:
        self.partitions.update(states)

    def remove_partitions(self, partitions: list[TopicPartition]) -> None:
        for tp in partitions:
            self.partitions.pop(tp, None)

    def close(self) -> None:
        self.is_closed = True


class Setup:
    def __init__(self, num_fetchers: int = 1) -> None:
        self.made: list[FakeFetcher] = []
        make: Any = self._make
        self.manager = FetcherManager(make, lambda: num_fetchers)

    def _make(self, leader: int) -> FakeFetcher:
        self.made.append(FakeFetcher(leader))
        return self.made[-1]

    def fetch(self, leader: int, *partitions: TopicPartition, epoch: int = 0) -> None:
        state = PartitionFetchState(0, epoch)
        self.manager.add(dict.fromkeys(partitions, (leader, state)))

    def open_fetchers(self) -> dict[int, set[TopicPartition]]:
        return {f.leader: set(f.partitions) for f in self.made if not f.is_closed}


@pytest.fixture
def setup() -> Setup:
    return Setup()


def test_each_leader_has_a_fetcher_for_its_partitions(setup: Setup) -> None:
    setup.fetch(1, A, B)
    setup.fetch(2, C)
    assert setup.open_fetchers() == {1: {A, B}, 2: {C}}


def test_partition_that_gets_another_leader_changes_its_fetcher(setup: Setup) -> None:
    setup.fetch(1, A, B)
    setup.fetch(2, A, epoch=1)
    assert setup.open_fetchers() == {1: {B}, 2: {A}}


def test_broker_that_is_about_to_stop_follows_nobody_new(setup: Setup) -> None:
    setup.fetch(1, A)
    setup.manager.take_no_more()
    setup.fetch(1, B)
    setup.fetch(2, C)
    assert setup.open_fetchers() == {1: {A}}


def test_fetcher_ends_with_its_last_partition(setup: Setup) -> None:
    setup.fetch(1, A, B)
    setup.manager.remove([A])
    assert setup.open_fetchers() == {1: {B}}
    setup.manager.remove([B, C])
    assert setup.open_fetchers() == {}
    assert len(setup.manager) == 0


def test_fetcher_that_gave_up_a_partition_is_still_there_for_the_others(setup: Setup) -> None:
    setup.fetch(1, A, B)
    setup.made[0].remove_partitions([A, B])  # fenced: the controller is about to tell us
    setup.manager.remove([A])
    setup.fetch(1, A, epoch=1)
    setup.manager.remove([B])
    setup.fetch(1, B, epoch=1)
    assert setup.open_fetchers() == {1: {A, B}}


def test_partitions_of_a_leader_are_split_over_so_many_fetchers() -> None:
    setup = Setup(num_fetchers=2)
    setup.fetch(1, A, B, C)
    assert len(setup.made) == 2
    assert set().union(*(f.partitions for f in setup.made)) == {A, B, C}


def test_shutdown_closes_all(setup: Setup) -> None:
    setup.fetch(1, A)
    setup.fetch(2, B)
    setup.manager.shutdown()
    assert setup.open_fetchers() == {}
