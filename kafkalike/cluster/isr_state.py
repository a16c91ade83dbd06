"""The in-sync replicas of a partition as its leader sees them: committed, or about to change.

A change is asked of the controller (AlterIsr) and holds only once that has agreed. Until then the
high watermark must count every replica that may be in the ISR by either view: the maximal ISR.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IsrState:
    """`isr` is what ZooKeeper has; `asked_for` what the controller is asked to write, if any."""

    isr: tuple[int, ...]
    asked_for: tuple[int, ...] | None = None

    @property
    def is_inflight(self) -> bool:
        """Whether a change is asked for and not answered yet; there is one at a time."""
        return self.asked_for is not None

    @property
    def maximal_isr(self) -> tuple[int, ...]:
        """Every replica that may be in sync, by the old view or the new one."""
        if self.asked_for is None:
            return self.isr
        return tuple(dict.fromkeys(self.isr + self.asked_for))

    def expand(self, replica: int) -> "IsrState":
        """Ask to let a replica in."""
        return IsrState(self.isr, (*self.isr, replica))

    def shrink(self, replicas: frozenset[int]) -> "IsrState":
        """Ask to leave replicas out."""
        return IsrState(self.isr, tuple(r for r in self.isr if r not in replicas))
