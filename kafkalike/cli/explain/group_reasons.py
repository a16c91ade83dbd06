"""Why a group is as it is: what its state means, why it rebalanced, who has nothing to read.

Pure: facts in, findings out. The facts come from `group_facts`.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafkalike.cli.explain.finding import Finding, counted, fine, listed, note, problem
from kafkalike.cli.explain.group_history import Generation, Member
from kafkalike.cli.tools.group_text import PartitionAssignment

_SHOWN_GENERATIONS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFacts:
    """What the coordinator says about a group now, and what it has written about it before."""

    group: str
    state: str
    coordinator: int
    offsets_partition: int
    members: Mapping[str, Member]
    """Who is in the group now; while it rebalances, who has not gone."""
    rows: Sequence[PartitionAssignment] = ()
    history: Sequence[Generation] = ()
    history_problem: str = ""
    """Why there is no history, if it could not be read."""
    protocol: str = ""
    partition_count: int = 0
    """How many partitions the subscribed topics have."""

    def as_json(self) -> dict[str, Any]:
        """Return the facts for JSON."""
        return {
            "group": self.group,
            "state": self.state,
            "coordinator": self.coordinator,
            "offsets_partition": self.offsets_partition,
            "members": [
                {"member_id": m.member_id, "client_id": m.client_id, "host": m.host}
                for m in self.members.values()
            ],
            "partitions": [row.as_row() for row in self.rows],
            "generations": [generation.as_json() for generation in self.history],
        }


def explain_group(facts: GroupFacts) -> list[Finding]:
    """Return what there is to know: where, in which state and why, what came before, how far."""
    where = (
        f"Broker {facts.coordinator} coordinates it, as the leader of "
        f"__consumer_offsets-{facts.offsets_partition}."
    )
    idle = _idle_members(facts) if facts.state == "Stable" else ()
    return [
        fine("coordinator", where),
        _state(facts),
        *_history(facts),
        *idle,
        *_progress(facts),
    ]


def _state(facts: GroupFacts) -> Finding:
    last = facts.history[-1] if facts.history else None
    count = counted(len(facts.members), "member")
    if facts.state == "Stable":
        since = f" since {_clock(last.began_ms)} (generation {last.number})" if last else ""
        return fine("state", f"It is stable{since}: {count}, assignor {facts.protocol or 'none'}.")
    if facts.state == "Empty":
        return note(
            "state",
            f"It is empty{_since(last)}: nobody reads. Its offsets are kept for "
            "offsets.retention.minutes, and it goes on from there when a member comes.",
        )
    if facts.state == "PreparingRebalance":
        return _preparing(facts, last)
    if facts.state == "CompletingRebalance":
        return note(
            "state",
            f"It rebalances: {count} joined, and wait for the first of them to share out the "
            "partitions. If that takes long, that member is slow or stuck.",
        )
    return problem("state", f"It is {facts.state.lower()}: its coordinator forgets it.")


def _since(last: Generation | None) -> str:
    return f" since {_clock(last.began_ms)}" if last and last.began_ms and not last.members else ""


def _preparing(facts: GroupFacts, last: Generation | None) -> Finding:
    before = last.members if last else {}
    come = [member for key, member in facts.members.items() if key not in before]
    gone = [member for key, member in before.items() if key not in facts.members]
    stayed = [member for key, member in facts.members.items() if key in before]
    words = f"It rebalances, because {_because(come, gone)}."
    if stayed:
        known = [before[member.member_id] for member in stayed]
        longest = max(member.rebalance_timeout_ms for member in known)
        words += (
            f" It waits until {_names(stayed)} joined again, which a member does when its program "
            f"polls; after {_duration(longest)} (max.poll.interval.ms) it goes on without those "
            "who did not."
        )
    return note("state", words)


def _because(come: Sequence[Member], gone: Sequence[Member]) -> str:
    reasons = [f"{_names(come)} {'wants' if len(come) == 1 else 'want'} to join"] if come else []
    reasons += map(_left, gone)
    if not reasons:
        return (
            "a member asked for it: its subscription changed, its topics got more partitions, or "
            "it came back under its name"
        )
    return listed(reasons)


def _left(member: Member) -> str:
    patience = _duration(member.session_timeout_ms)
    return f"{member.name} left, or was not heard from for {patience} (session.timeout.ms)"


def _names(members: Sequence[Member]) -> str:
    return listed(sorted(member.name for member in members))


def _history(facts: GroupFacts) -> Iterator[Finding]:
    if facts.history_problem:
        yield note("history", f"What happened before is not known: {facts.history_problem}.")
    shown = list(facts.history)[-_SHOWN_GENERATIONS:]
    earlier = [None, *facts.history][-len(shown) - 1 : -1] if shown else []
    for before, generation in zip(earlier, shown, strict=True):
        yield fine("generation", _told(before, generation))


def _told(before: Generation | None, generation: Generation) -> str:
    head = f"Generation {generation.number} began {_clock(generation.began_ms)}"
    count = counted(len(generation.members), "member")
    if before is None:
        return f"{head} with {count}: {_names(list(generation.members.values()))}."
    come = [m for key, m in generation.members.items() if key not in before.members]
    gone = [m for key, m in before.members.items() if key not in generation.members]
    reasons = [f"{_names(come)} joined"] if come else []
    reasons += map(_left, gone)
    why = listed(reasons) if reasons else "a member asked for it, or the topics changed"
    return f"{head} with {count}: {why}."


def _idle_members(facts: GroupFacts) -> Iterator[Finding]:
    idle = [member for member in facts.members.values() if not member.partitions]
    if idle:
        yield note(
            "idle",
            f"{_names(idle)} {'has' if len(idle) == 1 else 'have'} nothing to read: there "
            f"{'is' if facts.partition_count == 1 else 'are'} "
            f"{counted(facts.partition_count, 'partition')} for "
            f"{counted(len(facts.members), 'member')}.",
        )


def _progress(facts: GroupFacts) -> Iterator[Finding]:
    behind = [(row.lag, f"{row.topic}-{row.partition}") for row in facts.rows if row.lag]
    total = sum(lag for lag, _ in behind)
    if all(row.lag is None for row in facts.rows):
        yield note("lag", "It has committed no offset yet.")
        return
    if not total:
        yield fine("lag", "It has read, and committed, everything.")
    else:
        worst = ", ".join(f"{name} ({lag})" for lag, name in sorted(behind, reverse=True)[:5])
        yield note("lag", f"It is {counted(total, 'record')} behind: {worst}.")
    uncommitted = [f"{row.topic}-{row.partition}" for row in facts.rows if row.offset is None]
    if uncommitted:
        yield note("lag", f"There is no committed offset for {listed(uncommitted)} yet.")
    lost = [
        f"{row.topic}-{row.partition}"
        for row in facts.rows
        if facts.state == "Stable" and row.client_id in (None, "-")
    ]
    if lost:
        yield note("unread", f"No member reads {listed(lost)}, though there are offsets for it.")


def _clock(at_ms: int | None) -> str:
    if at_ms is None:
        return "at an unknown time"
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at_ms / 1000))


def _duration(ms: int) -> str:
    return f"{ms / 1000:g} s"
