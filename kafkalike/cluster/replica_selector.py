"""Which replica a consumer should read from (KIP-392): `replica.selector.class`.

By default nobody is asked and the leader answers. Kafka's class names select ours.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple


class ReplicaView(NamedTuple):
    """A replica that has the offset asked for."""

    broker_id: int
    rack: str | None
    log_end_offset: int
    time_since_last_caught_up_ms: int


Selector = Callable[[str, ReplicaView, Sequence[ReplicaView]], ReplicaView]
"""Takes the client's rack, the leader and all replicas (the leader too), and chooses one."""


def select_leader(_rack: str, leader: ReplicaView, _replicas: Sequence[ReplicaView]) -> ReplicaView:
    """Always the leader (`LeaderSelector`)."""
    return leader


def select_by_rack(rack: str, leader: ReplicaView, replicas: Sequence[ReplicaView]) -> ReplicaView:
    """A replica in the client's rack: the leader if it is there, else the most caught up."""
    same_rack = [replica for replica in replicas if rack and replica.rack == rack]
    if not same_rack or leader in same_rack:
        return leader
    return max(
        same_rack,
        key=lambda r: (r.log_end_offset, -r.time_since_last_caught_up_ms, r.broker_id),
    )


_PACKAGE = "org.apache.kafka.common.replica."
SELECTORS: Mapping[str, Selector] = {
    f"{_PACKAGE}LeaderSelector": select_leader,
    f"{_PACKAGE}RackAwareReplicaSelector": select_by_rack,
}
