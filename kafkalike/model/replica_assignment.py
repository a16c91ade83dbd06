"""ReplicaAssignment: the brokers that hold a partition, and those that come and go (KIP-455)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplicaAssignment:
    """Replicas in order of preference; during a reassignment also what is added and removed."""

    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()

    @property
    def origin_replicas(self) -> tuple[int, ...]:
        """The replicas before the reassignment."""
        return tuple(r for r in self.replicas if r not in self.adding_replicas)

    @property
    def target_replicas(self) -> tuple[int, ...]:
        """The replicas once the reassignment is over."""
        return tuple(r for r in self.replicas if r not in self.removing_replicas)

    @property
    def is_being_reassigned(self) -> bool:
        """Whether replicas are still being added or removed."""
        return bool(self.adding_replicas or self.removing_replicas)

    def reassign_to(self, target: tuple[int, ...]) -> "ReplicaAssignment":
        """Begin (or redirect) a reassignment; the old replicas stay until it is over."""
        full = tuple(dict.fromkeys(target + self.origin_replicas))
        return ReplicaAssignment(
            full,
            tuple(r for r in full if r not in self.origin_replicas),
            tuple(r for r in full if r not in target),
        )
