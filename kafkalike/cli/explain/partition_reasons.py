"""Why a partition is as it is: who leads and why not another, who lags and why, what is refused.

Pure: facts in, findings out. The facts come from `topic_facts`.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafkalike.cli.explain.finding import Finding, counted, fine, listed, note, problem
from kafkalike.model.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True)
class EpochStart:
    """Where the log of the present leader begins, and the time of its first record, if any."""

    offset: int
    timestamp_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFacts:
    """What the brokers say about one partition."""

    tp: TopicPartition
    leader: int | None
    leader_epoch: int
    epoch_start: EpochStart | None = None
    replicas: Sequence[int]
    isr: Sequence[int]
    live_brokers: frozenset[int]
    offline_replicas: frozenset[int] = frozenset()
    log_end_offsets: Mapping[int, int] = field(default_factory=dict)
    """By broker; one that could not be asked is missing."""
    adding: Sequence[int] = ()
    removing: Sequence[int] = ()
    min_isr: int = 1
    min_isr_source: str = "the default"
    allows_unclean_election: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the facts for JSON."""
        start = self.epoch_start
        return {
            "partition": self.tp.partition,
            "leader": self.leader,
            "leader_epoch": self.leader_epoch,
            "leads_from_offset": None if start is None else start.offset,
            "leads_since_ms": None if start is None else start.timestamp_ms,
            "replicas": list(self.replicas),
            "isr": list(self.isr),
            "log_end_offsets": {str(broker): end for broker, end in self.log_end_offsets.items()},
            "min_isr": self.min_isr,
        }


def explain_partition(facts: PartitionFacts) -> list[Finding]:
    """Return what there is to know, what matters most first."""
    return [
        _leader(facts),
        *_preferred(facts),
        *_reassignment(facts),
        *(_missing(facts, broker) for broker in facts.replicas if broker not in facts.isr),
        *_acks_all(facts),
    ]


def _leader(facts: PartitionFacts) -> Finding:
    if facts.leader is None:
        return _no_leader(facts)
    return fine("leader", f"Broker {facts.leader} leads{_since(facts)}.")


def _since(facts: PartitionFacts) -> str:
    if facts.leader_epoch < 0:
        return ""
    since = f", since leader epoch {facts.leader_epoch}"
    start = facts.epoch_start
    if start is None:
        return since
    if start.timestamp_ms is None:
        return f"{since}: from offset {start.offset} on, nothing was written since"
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(start.timestamp_ms / 1000))
    return f"{since}: from offset {start.offset} on, written {at}"


def _no_leader(facts: PartitionFacts) -> Finding:
    in_sync, alive = listed(facts.isr, "or"), _usable(facts)
    words = (
        f"Nobody leads, so nothing can be written or read: only broker {in_sync} has all "
        f"acknowledged records, and is away. Start it again."
    )
    if not alive:
        return problem("leader", f"{words} No other replica is there either.")
    if facts.allows_unclean_election:
        return problem("leader", f"{words} Or wait: an unclean election is allowed.")
    return problem(
        "leader",
        f"{words} If it is lost for good: kafka-leader-election --election-type unclean lets "
        f"broker {listed(alive, 'or')} lead, without the records that it does not have.",
    )


def _usable(facts: PartitionFacts) -> list[int]:
    return [b for b in facts.replicas if b in facts.live_brokers - facts.offline_replicas]


def _preferred(facts: PartitionFacts) -> Iterator[Finding]:
    preferred = facts.replicas[0]
    if facts.leader is None or facts.leader == preferred:
        return
    if preferred not in _usable(facts):
        why = "is away"
    elif preferred not in facts.isr:
        why = "is not in sync yet"
    else:
        why = (
            "could lead again: the controller looks every five minutes, or "
            "kafka-leader-election --election-type preferred does it now"
        )
    yield note("preferred leader", f"Broker {preferred} is meant to lead and {why}.")


def _reassignment(facts: PartitionFacts) -> Iterator[Finding]:
    moves = [f"copies are made on {listed(facts.adding)}"] if facts.adding else []
    moves += [f"given up on {listed(facts.removing)}"] if facts.removing else []
    if moves:
        yield note("reassignment", f"It is on the move: {', and '.join(moves)}.")


def _missing(facts: PartitionFacts, broker: int) -> Finding:
    """Say why a replica is not in sync."""
    name = f"Broker {broker} is not in sync: "
    if broker not in facts.live_brokers:
        words = "it is away. It catches up by itself once it is started again."
        return problem("under-replicated", name + words)
    if broker in facts.offline_replicas:
        words = "the log directory with its copy has failed. Mend the disk and restart the broker."
        return problem("under-replicated", name + words)
    behind = _behind(facts, broker)
    copying = "its first copy is being made" if broker in facts.adding else "it is catching up"
    if behind is None:
        return problem("under-replicated", f"{name}it is there, but does not say how far it is.")
    if behind > 0:
        return note("under-replicated", f"{name}{copying}, {counted(behind, 'record')} to go.")
    words = "it has every record, and the leader is about to take it back."
    return note("under-replicated", name + words)


def _behind(facts: PartitionFacts, broker: int) -> int | None:
    leader_end = facts.log_end_offsets.get(facts.leader) if facts.leader is not None else None
    end = facts.log_end_offsets.get(broker)
    return None if leader_end is None or end is None else max(0, leader_end - end)


def _acks_all(facts: PartitionFacts) -> Iterator[Finding]:
    if facts.leader is None:
        return
    need = f"min.insync.replicas is {facts.min_isr} ({facts.min_isr_source})"
    in_sync = len(facts.isr)
    if facts.min_isr > len(facts.replicas):
        yield problem(
            "acks=all",
            f"acks=all is always refused (NOT_ENOUGH_REPLICAS): {need}, and there are only "
            f"{counted(len(facts.replicas), 'replica')}.",
        )
    elif in_sync < facts.min_isr:
        away = [broker for broker in facts.replicas if broker not in facts.isr]
        yield problem(
            "acks=all",
            f"acks=all is refused (NOT_ENOUGH_REPLICAS): {need}, and only "
            f"{counted(in_sync, 'replica')} ({listed(facts.isr)}) "
            f"{'is' if in_sync == 1 else 'are'} in sync. It works again when broker "
            f"{listed(away, 'or')} is in sync.",
        )
    elif in_sync == facts.min_isr < len(facts.replicas):
        yield note("acks=all", f"acks=all works, until one more replica is lost: {need}.")
