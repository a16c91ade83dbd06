"""Where a follower stands with each partition that it fetches, and how it finds common ground.

Part of Kafka's `AbstractFetcherThread`: the decisions, without the network. With Fetch 12 a
follower names the epoch of its last record, and the leader answers where the logs diverge; a log
that knows no epochs begins at its high watermark.
"""

from enum import Enum
from typing import NamedTuple, Protocol

from kafkalike.log.fetch_data_info import OffsetAndEpoch

NO_EPOCH = -1


class FollowerLog(Protocol):
    """What of a `Log` matters here."""

    @property
    def log_end_offset(self) -> int:
        """The next offset."""

    @property
    def high_watermark(self) -> int:
        """What is known to be on all in-sync replicas."""

    @property
    def latest_epoch(self) -> int | None:
        """The epoch of the last record."""

    def end_offset_for_epoch(self, leader_epoch: int) -> OffsetAndEpoch | None:
        """Where an epoch ends."""


class ReplicaState(Enum):
    """TRUNCATING: what may differ from the leader goes first · FETCHING: the rest is appended."""

    TRUNCATING = "truncating"
    FETCHING = "fetching"


class PartitionFetchState(NamedTuple):
    """One partition of a fetcher. Not to be fetched before `delayed_until_ms`."""

    fetch_offset: int
    current_leader_epoch: int
    last_fetched_epoch: int = NO_EPOCH
    state: ReplicaState = ReplicaState.FETCHING
    delayed_until_ms: int = 0
    lag: int | None = None  # how far the leader's high watermark is ahead, where that is known

    @property
    def is_in_sync(self) -> bool:
        """Whether all that consumers can see is here."""
        return self.lag is not None and self.lag <= 0

    def is_ready_for_fetch(self, now_ms: int) -> bool:
        """Whether it may be fetched now."""
        return self.state is ReplicaState.FETCHING and self.delayed_until_ms <= now_ms

    def delayed(self, until_ms: int) -> "PartitionFetchState":
        """The same, but later."""
        return self._replace(delayed_until_ms=until_ms)

    def advanced(
        self, next_offset: int, last_epoch: int | None, high_watermark: int
    ) -> "PartitionFetchState":
        """After records were appended."""
        epoch = self.last_fetched_epoch if last_epoch is None else last_epoch
        lag = max(0, high_watermark - next_offset)
        return PartitionFetchState(next_offset, self.current_leader_epoch, epoch, lag=lag)


def initial_state(log: FollowerLog, leader_epoch: int) -> PartitionFetchState:
    """Begin to follow a leader: at the end of the log if its epochs can be compared."""
    last_epoch = log.latest_epoch
    if last_epoch is None:
        return PartitionFetchState(log.high_watermark, leader_epoch, state=ReplicaState.TRUNCATING)
    return PartitionFetchState(log.log_end_offset, leader_epoch, last_epoch)


def truncation_offset(log: FollowerLog, diverging: OffsetAndEpoch) -> int:
    """Return where to cut the log, given the largest epoch in common and its end at the leader."""
    own = log.end_offset_for_epoch(diverging.leader_epoch)
    if own is None:
        # The follower has no epoch that old: the leader's word is all there is (KIP-101).
        return min(diverging.offset, log.log_end_offset)
    if own.leader_epoch != diverging.leader_epoch:
        # An epoch unknown here: cut to the largest smaller one, and let the leader compare again.
        return min(own.offset, log.log_end_offset)
    return min(own.offset, diverging.offset, log.log_end_offset)


def after_truncation(
    log: FollowerLog, state: PartitionFetchState, offset: int
) -> PartitionFetchState:
    """Go on fetching from where the log was cut."""
    epoch = log.latest_epoch
    return PartitionFetchState(
        offset, state.current_leader_epoch, NO_EPOCH if epoch is None else epoch
    )


class OutOfRange(NamedTuple):
    """What to do when the leader does not have the offset: where to cut, where to go on."""

    fetch_offset: int
    truncate_to: int | None = None
    start_over_at: int | None = None


def resolve_out_of_range(log: FollowerLog, leader_start: int, leader_end: int) -> OutOfRange:
    """Find common ground with a leader whose log ends before ours, or begins after its end."""
    if leader_end < log.log_end_offset:
        # Only after an unclean election: what the leader does not have is lost.
        return OutOfRange(leader_end, truncate_to=leader_end)
    if leader_start > log.log_end_offset:
        return OutOfRange(leader_start, start_over_at=leader_start)
    return OutOfRange(log.log_end_offset)
