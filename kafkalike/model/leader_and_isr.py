"""LeaderAndIsr: who leads a partition, in which epoch, and who is in sync."""

from dataclasses import dataclass, replace

NO_LEADER = -1
LEADER_DURING_DELETE = -2
INITIAL_LEADER_EPOCH = 0
INITIAL_PARTITION_VERSION = 0


@dataclass(frozen=True, slots=True)
class LeaderAndIsr:
    """The state of a partition as its znode holds it; `zk_version` is that znode's version."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    zk_version: int = INITIAL_PARTITION_VERSION

    def with_zk_version(self, zk_version: int) -> "LeaderAndIsr":
        """Give the same state at another znode version."""
        return replace(self, zk_version=zk_version)

    def new_leader_and_isr(self, leader: int, isr: tuple[int, ...]) -> "LeaderAndIsr":
        """Give the next epoch with this leader and ISR."""
        return LeaderAndIsr(leader, self.leader_epoch + 1, isr, self.zk_version)

    def new_leader(self, leader: int) -> "LeaderAndIsr":
        """Give the next epoch with this leader and the same ISR."""
        return self.new_leader_and_isr(leader, self.isr)

    def new_epoch(self) -> "LeaderAndIsr":
        """Give the next epoch with leader and ISR unchanged."""
        return self.new_leader_and_isr(self.leader, self.isr)


@dataclass(frozen=True, slots=True)
class LeaderIsrAndControllerEpoch:
    """A partition's state together with the epoch of the controller that wrote it."""

    leader_and_isr: LeaderAndIsr
    controller_epoch: int
