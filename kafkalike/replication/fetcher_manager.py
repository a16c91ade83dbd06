"""All replica fetchers of this broker: one per leader and share (Kafka's ReplicaFetcherManager)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.replication.fetch_state import PartitionFetchState
from kafkalike.replication.replica_fetcher import ReplicaFetcher


class FetcherId(NamedTuple):
    """`share` is less than `num.replica.fetchers`: a leader's partitions are split over so many."""

    leader: int
    share: int


class FetcherManager:
    """Gives each partition to the fetcher of its leader."""

    def __init__(
        self, make_fetcher: Callable[[int], ReplicaFetcher], num_fetchers: Callable[[], int]
    ) -> None:
        self._make_fetcher = make_fetcher
        self._num_fetchers = num_fetchers
        self._fetchers: dict[FetcherId, ReplicaFetcher] = {}
        self._fetcher_of: dict[TopicPartition, FetcherId] = {}
        self._takes_more = True

    def __len__(self) -> int:
        return len(self._fetchers)

    def add(self, partitions: Mapping[TopicPartition, tuple[int, PartitionFetchState]]) -> None:
        """Fetch partitions, each from its leader."""
        if not self._takes_more:
            return
        self.remove(
            [tp for tp, (leader, _) in partitions.items() if self._has_another_leader(tp, leader)]
        )
        by_fetcher: dict[FetcherId, dict[TopicPartition, PartitionFetchState]] = defaultdict(dict)
        for tp, (leader, state) in partitions.items():
            fetcher_id = FetcherId(leader, _share(tp, self._num_fetchers()))
            by_fetcher[fetcher_id][tp] = state
            self._fetcher_of[tp] = fetcher_id
        for fetcher_id, states in by_fetcher.items():
            fetcher = self._fetchers.get(fetcher_id)
            if fetcher is None:
                fetcher = self._fetchers[fetcher_id] = self._make_fetcher(fetcher_id.leader)
            fetcher.add_partitions(states)

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch these no longer; a fetcher without partitions ends."""
        by_fetcher: dict[FetcherId, list[TopicPartition]] = defaultdict(list)
        for tp in partitions:
            fetcher_id = self._fetcher_of.pop(tp, None)
            if fetcher_id is not None:
                by_fetcher[fetcher_id].append(tp)
        for fetcher_id, gone in by_fetcher.items():
            fetcher = self._fetchers[fetcher_id]
            fetcher.remove_partitions(gone)
            # A fetcher may have given up partitions by itself; it ends when none is given to it.
            if fetcher_id not in self._fetcher_of.values():
                fetcher.close()
                del self._fetchers[fetcher_id]

    def take_no_more(self) -> None:
        """Fetch what is fetched already, and nothing new: the broker is about to stop."""
        self._takes_more = False

    def shutdown(self) -> None:
        """Stop all."""
        for fetcher in self._fetchers.values():
            fetcher.close()
        self._fetchers.clear()
        self._fetcher_of.clear()

    def _has_another_leader(self, tp: TopicPartition, leader: int) -> bool:
        fetcher_id = self._fetcher_of.get(tp)
        return fetcher_id is not None and fetcher_id.leader != leader


def _share(tp: TopicPartition, shares: int) -> int:
    if shares == 1:
        return 0
    return (31 * sum(tp.topic.encode()) + tp.partition) % shares
