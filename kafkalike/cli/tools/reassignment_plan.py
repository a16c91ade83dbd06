"""Partition reassignment as a plan: its file, what moves, what to throttle, how far it has come.

The decisions of Kafka's `ReassignPartitionsCommand`, without a broker.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final, NamedTuple

from kafkalike.cli.tools.support.partition_file import (
    AdminCommandFailedError,
    AdminOperationError,
    duplicates,
    parse_json,
    partition_of,
)
from kafkalike.cluster.replica_placement import BrokerMetadata, assign_replicas_to_brokers
from kafkalike.model.topic_partition import TopicPartition

ANY_LOG_DIR: Final = "any"

LEADER_RATE: Final = "leader.replication.throttled.rate"
FOLLOWER_RATE: Final = "follower.replication.throttled.rate"
LOG_DIR_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
BROKER_THROTTLES: Final = (LEADER_RATE, FOLLOWER_RATE, LOG_DIR_RATE)
LEADER_REPLICAS: Final = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS: Final = "follower.replication.throttled.replicas"
TOPIC_THROTTLES: Final = (LEADER_REPLICAS, FOLLOWER_REPLICAS)

Assignment = Mapping[TopicPartition, Sequence[int]]


class Replica(NamedTuple):
    """One replica of a partition, in the order in which Kafka's tool sorts them."""

    broker_id: int
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}-{self.broker_id}"

    @property
    def tp(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True)
class Plan:
    """Where partitions shall be, and in which directories replicas shall be."""

    entries: list[tuple[TopicPartition, list[int]]]
    directories: dict[Replica, str]

    @property
    def assignment(self) -> dict[TopicPartition, list[int]]:
        """The replicas by partition."""
        return dict(self.entries)

    @property
    def topics(self) -> list[str]:
        """The topics that partitions are of."""
        return list(dict.fromkeys(tp.topic for tp, _ in self.entries))

    @property
    def brokers(self) -> set[int]:
        """All brokers that get replicas."""
        return {broker for _, replicas in self.entries for broker in replicas}

    def check_executable(self) -> None:
        """Refuse a plan that has nothing, or something twice."""
        if not self.entries:
            raise AdminCommandFailedError("Partition reassignment list cannot be empty")
        if not all(replicas for _, replicas in self.entries):
            raise AdminCommandFailedError("Partition replica list cannot be empty")
        twice = duplicates([tp for tp, _ in self.entries])
        if twice:
            raise AdminCommandFailedError(
                f"Partition reassignment contains duplicate topic partitions: {twice}"
            )
        entries = [
            f"{tp} contains multiple entries for {_twice(replicas)}"
            for tp, replicas in self.entries
            if _twice(replicas)
        ]
        if entries:
            raise AdminCommandFailedError(
                f"Partition replica lists may not contain duplicate entries: {'. '.join(entries)}"
            )


def _twice(values: Sequence[Any]) -> str:
    return ",".join(str(value) for value, times in Counter(values).items() if times > 1)


def parse_plan(text: str) -> Plan:
    """Read the file of `--reassignment-json-file`."""
    found = parse_json(text, "The input string is not a valid JSON")
    _check_version(found)
    plan = Plan([], {})
    for entry in found.get("partitions", []):
        tp = partition_of(entry)
        replicas = [int(broker) for broker in entry["replicas"]]
        directories = entry.get("log_dirs", [ANY_LOG_DIR] * len(replicas))
        if len(replicas) != len(directories):
            raise AdminCommandFailedError(
                f"Size of replicas list {replicas} is different from size of log dirs list "
                f"{directories} for partition {tp}"
            )
        plan.entries.append((tp, replicas))
        for broker, directory in zip(replicas, directories, strict=True):
            if directory != ANY_LOG_DIR:
                plan.directories[Replica(broker, *tp)] = directory
    return plan


def parse_topics(text: str) -> list[str]:
    """Read the file of `--topics-to-move-json-file`."""
    found = parse_json(text, "The input string is not a valid JSON")
    _check_version(found)
    topics = [str(entry["topic"]) for entry in found.get("topics", [])]
    if _twice(topics):
        raise AdminCommandFailedError(
            f"List of topics to reassign contains duplicate entries: {_twice(topics)}"
        )
    return topics


def _check_version(found: Any) -> None:
    if not isinstance(found, dict):
        raise AdminOperationError("The input string is not a valid JSON")
    version = found.get("version", 1)
    if version != 1:
        raise AdminOperationError(f"Not supported version field value {version}")


def parse_brokers(text: str) -> list[int]:
    """Read the list of `--broker-list`."""
    brokers = [int(part) for part in text.split(",")]
    if _twice(brokers):
        raise AdminCommandFailedError(f"Broker list contains duplicate entries: {_twice(brokers)}")
    return brokers


def format_plan(assignment: Assignment) -> str:
    """Write an assignment as the file of a plan."""
    partitions = [
        {
            "topic": tp.topic,
            "partition": tp.partition,
            "replicas": list(replicas),
            "log_dirs": [ANY_LOG_DIR] * len(replicas),
        }
        for tp, replicas in sorted(assignment.items())
    ]
    return json.dumps({"version": 1, "partitions": partitions}, separators=(",", ":"))


def propose(current: Assignment, brokers: Sequence[BrokerMetadata], random: Random) -> Assignment:
    """Spread topics over brokers as if they were new."""
    proposed: dict[TopicPartition, Sequence[int]] = {}
    for topic in sorted({tp.topic for tp in current}):
        partitions = [replicas for tp, replicas in current.items() if tp.topic == topic]
        placed = assign_replicas_to_brokers(brokers, len(partitions), len(partitions[0]), random)
        for partition, replicas in placed.items():
            proposed[TopicPartition(topic, partition)] = replicas
    return proposed


class Move(NamedTuple):
    """From which brokers a partition is copied, and to which."""

    sources: tuple[int, ...]
    destinations: tuple[int, ...]


def moves_of(
    ongoing: Mapping[TopicPartition, Mapping[str, Sequence[int]]],
    proposed: Assignment,
    current: Assignment,
) -> dict[TopicPartition, Move]:
    """Return all moves once the proposed ones have begun, with those that are under way."""
    moves = {}
    for tp, move in ongoing.items():
        adding = move["adding_replicas"]
        moves[tp] = Move(tuple(b for b in move["replicas"] if b not in adding), tuple(adding))
    for tp, replicas in proposed.items():
        sources = moves[tp].sources if tp in moves else tuple(current[tp])
        moves[tp] = Move(sources, tuple(b for b in replicas if b not in sources))
    return moves


def throttled_replicas(moves: Mapping[TopicPartition, Move]) -> dict[str, dict[str, str]]:
    """Return the configs of each topic that say which replicas are throttled."""
    leaders: dict[str, list[str]] = {}
    followers: dict[str, list[str]] = {}
    for tp, move in moves.items():
        leaders.setdefault(tp.topic, []).extend(f"{tp.partition}:{b}" for b in move.sources)
        followers.setdefault(tp.topic, []).extend(f"{tp.partition}:{b}" for b in move.destinations)
    return {
        topic: {
            LEADER_REPLICAS: ",".join(sorted(leaders[topic])),
            FOLLOWER_REPLICAS: ",".join(sorted(followers[topic])),
        }
        for topic in leaders
    }


def moving_brokers(moves: Mapping[TopicPartition, Move]) -> list[int]:
    """Return all brokers that send or receive."""
    return sorted({b for move in moves.values() for b in (*move.sources, *move.destinations)})


def partition_lines(plan: Plan, current: Assignment, ongoing: set[TopicPartition]) -> Iterator[str]:
    """Say how far each partition of a plan has come."""
    yield "Status of partition reassignment:"
    for tp, target in sorted(plan.entries):
        if tp in ongoing:
            yield f"Reassignment of partition {tp} is still in progress."
        elif list(current.get(tp, ())) == target:
            yield f"Reassignment of partition {tp} is complete."
        else:
            yield (
                f"There is no active reassignment of partition {tp}, but replica set is "
                f"{_joined(current.get(tp, ()))} rather than {_joined(target)}."
            )


class Directories(NamedTuple):
    """Where a replica is on its broker, and where it is being moved to."""

    current: str | None
    future: str | None


def is_moving(found: Directories) -> bool:
    """Whether the broker still has to copy, or has lost the replica."""
    return found.current is None or found.future is not None


def replica_line(replica: Replica, target: str, found: Directories) -> str:
    """Say how far the move of a replica to another directory has come."""
    where = f"Partition {replica.tp}"
    if found.current is None:
        return (
            f"{where} is not found in any live log dir on broker {replica.broker_id}. There is "
            "likely an offline log directory on the broker."
        )
    if found.future is not None and found.future == target:
        return f"Reassignment of replica {replica} is still in progress."
    if found.future is not None:
        return (
            f"{where} on broker {replica.broker_id} is being moved to log dir {found.future} "
            f"instead of {target}."
        )
    if found.current == target:
        return f"Reassignment of replica {replica} completed successfully."
    return (
        f"{where} on broker {replica.broker_id} is not being moved from log dir {found.current} "
        f"to {target}."
    )


def _joined(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))
