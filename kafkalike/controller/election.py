"""Who shall lead: small pure elections over the context (Kafka's `Election`).

Each gives a partition's next LeaderAndIsr, or None where nobody can lead, and the replicas that
must hear of it. Nothing is written here.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import Enum

from kafkalike.controller.context import ControllerContext
from kafkalike.model.leader_and_isr import INITIAL_LEADER_EPOCH, NO_LEADER, LeaderAndIsr
from kafkalike.model.topic_partition import TopicPartition


class ElectionStrategy(Enum):
    """Why a leader is elected, and thereby who may be chosen."""

    OFFLINE = "OfflinePartitionLeaderElectionStrategy(allowUnclean=false)"
    OFFLINE_ALLOW_UNCLEAN = "OfflinePartitionLeaderElectionStrategy(allowUnclean=true)"
    REASSIGN = "ReassignPartitionLeaderElectionStrategy"
    PREFERRED = "PreferredReplicaPartitionLeaderElectionStrategy"
    CONTROLLED_SHUTDOWN = "ControlledShutdownPartitionLeaderElectionStrategy"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class ElectionResult:
    """What an election gave; `recipients` are the replicas that must hear of it."""

    tp: TopicPartition
    leader_and_isr: LeaderAndIsr | None
    recipients: tuple[int, ...]
    is_unclean: bool = False


def initial_leader_and_isr(live_replicas: Sequence[int]) -> LeaderAndIsr | None:
    """Let the first live replica of a new partition lead, with all live ones in sync."""
    if not live_replicas:
        return None
    return LeaderAndIsr(live_replicas[0], INITIAL_LEADER_EPOCH, tuple(live_replicas))


def without_replica(leader_and_isr: LeaderAndIsr, replica: int) -> LeaderAndIsr:
    """Take a replica out of the ISR and out of the lead; the last member stays in the ISR.

    The last one stays so that it is known who has all acknowledged records when it comes back.
    """
    leader = NO_LEADER if leader_and_isr.leader == replica else leader_and_isr.leader
    isr = leader_and_isr.isr
    if len(isr) > 1:
        isr = tuple(r for r in isr if r != replica)
    return leader_and_isr.new_leader_and_isr(leader, isr)


def offline_leader(
    assignment: Sequence[int],
    isr: Collection[int],
    live_replicas: Collection[int],
    *,
    is_unclean_allowed: bool,
) -> int | None:
    """Choose the first live replica in sync; failing that, if allowed, the first live one."""
    clean = _first(assignment, lambda r: r in live_replicas and r in isr)
    if clean is not None or not is_unclean_allowed:
        return clean
    return _first(assignment, lambda r: r in live_replicas)


def reassign_leader(
    target_replicas: Sequence[int], isr: Collection[int], live_replicas: Collection[int]
) -> int | None:
    """Choose the first of the new replicas that is alive and in sync."""
    return _first(target_replicas, lambda r: r in live_replicas and r in isr)


def preferred_leader(
    assignment: Sequence[int], isr: Collection[int], live_replicas: Collection[int]
) -> int | None:
    """Choose the first replica if it is alive and in sync, else nobody."""
    return _first(assignment[:1], lambda r: r in live_replicas and r in isr)


def controlled_shutdown_leader(
    assignment: Sequence[int],
    isr: Collection[int],
    live_replicas: Collection[int],
    shutting_down: Collection[int],
) -> int | None:
    """Choose the first live replica in sync that is not about to go."""
    return _first(assignment, lambda r: r in live_replicas and r in isr and r not in shutting_down)


def _first(replicas: Sequence[int], is_eligible: Callable[[int], bool]) -> int | None:
    return next(filter(is_eligible, replicas), None)


def leader_for_offline(
    context: ControllerContext,
    tp: TopicPartition,
    leader_and_isr: LeaderAndIsr,
    *,
    is_unclean_allowed: bool,
) -> ElectionResult:
    """Elect for a partition without a living leader."""
    assignment = context.replicas(tp)
    live_replicas = context.live_replicas(tp)
    isr = leader_and_isr.isr
    leader = offline_leader(assignment, isr, live_replicas, is_unclean_allowed=is_unclean_allowed)
    if leader is None:
        return ElectionResult(tp, None, live_replicas)
    is_clean = leader in isr
    new_isr = tuple(r for r in isr if context.is_replica_online(r, tp)) if is_clean else (leader,)
    elected = leader_and_isr.new_leader_and_isr(leader, new_isr)
    return ElectionResult(tp, elected, live_replicas, is_unclean=not is_clean)


def leader_for_reassign(
    context: ControllerContext, tp: TopicPartition, leader_and_isr: LeaderAndIsr
) -> ElectionResult:
    """Elect among the replicas to which a partition moves."""
    target = context.assignment(tp).target_replicas
    live_replicas = tuple(r for r in target if context.is_replica_online(r, tp))
    leader = reassign_leader(target, leader_and_isr.isr, live_replicas)
    return ElectionResult(tp, _led_by(leader_and_isr, leader), target)


def leader_for_preferred_replica(
    context: ControllerContext, tp: TopicPartition, leader_and_isr: LeaderAndIsr
) -> ElectionResult:
    """Elect the first replica, or nobody."""
    assignment = context.replicas(tp)
    leader = preferred_leader(assignment, leader_and_isr.isr, context.live_replicas(tp))
    return ElectionResult(tp, _led_by(leader_and_isr, leader), assignment)


def leader_for_controlled_shutdown(
    context: ControllerContext, tp: TopicPartition, leader_and_isr: LeaderAndIsr
) -> ElectionResult:
    """Elect somebody who stays, and take those that go out of the ISR."""
    shutting_down = context.shutting_down_broker_ids
    assignment = context.replicas(tp)
    live_replicas = tuple(
        r
        for r in assignment
        if context.is_replica_online(r, tp, include_shutting_down_brokers=True)
    )
    isr = leader_and_isr.isr
    leader = controlled_shutdown_leader(assignment, isr, live_replicas, shutting_down)
    if leader is None:
        return ElectionResult(tp, None, live_replicas)
    new_isr = tuple(r for r in isr if r not in shutting_down)
    return ElectionResult(tp, leader_and_isr.new_leader_and_isr(leader, new_isr), live_replicas)


def _led_by(leader_and_isr: LeaderAndIsr, leader: int | None) -> LeaderAndIsr | None:
    return None if leader is None else leader_and_isr.new_leader(leader)
