"""What the controller is told, one event at a time (Kafka's `ControllerEvent`).

A watch only says "look again": such events are equal to themselves, and one that waits already is
not queued twice. An `Ask` comes from a request and carries the answer that its caller awaits.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeVar

from twisted.internet.defer import Deferred

from kafkalike.model.leader_and_isr import LeaderAndIsr
from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    ControllerMovedError,
    ErrorCode,
    KafkaError,
    NotControllerError,
)
from kafkalike.protocol.messages.leader_and_isr import LeaderAndIsrResponse
from kafkalike.protocol.messages.update_features import UpdateFeaturesRequest
from kafkalike.protocol.messages.update_metadata import UpdateMetadataResponse

Answer = TypeVar("Answer")


class ElectionType(Enum):
    """What ElectLeaders asks for; the values are those on the wire."""

    PREFERRED = 0
    UNCLEAN = 1


class ElectionTrigger(Enum):
    """Who asked for an election."""

    AUTO = "AutoTriggered"
    ZK = "ZkTriggered"
    ADMIN_CLIENT = "AdminClientTriggered"


class ControllerEvent:
    """Something that the controller must handle."""

    __slots__ = ()


PutEvent = Callable[[ControllerEvent], None]


@dataclass(frozen=True, slots=True)
class Startup(ControllerEvent):
    """The broker has registered: take part in elections."""


@dataclass(frozen=True, slots=True)
class ControllerChange(ControllerEvent):
    """Another controller may have been elected."""


@dataclass(frozen=True, slots=True)
class Reelect(ControllerEvent):
    """The controller is gone."""


@dataclass(frozen=True, slots=True)
class RegisterBrokerAndReelect(ControllerEvent):
    """A new ZooKeeper session stands."""


@dataclass(frozen=True, slots=True)
class Expire(ControllerEvent):
    """The ZooKeeper session is over."""


@dataclass(frozen=True, slots=True)
class BrokerChange(ControllerEvent):
    """Brokers came or went."""


@dataclass(frozen=True, slots=True)
class BrokerModifications(ControllerEvent):
    """A broker has other end points or features."""

    broker_id: int


@dataclass(frozen=True, slots=True)
class TopicChange(ControllerEvent):
    """Topics came or went."""


@dataclass(frozen=True, slots=True)
class PartitionModifications(ControllerEvent):
    """A topic's znode has other data: perhaps more partitions."""

    topic: str


@dataclass(frozen=True, slots=True)
class TopicDeletion(ControllerEvent):
    """Somebody wants topics deleted."""


@dataclass(frozen=True, slots=True)
class LogDirEventNotification(ControllerEvent):
    """A broker lost a log directory."""


@dataclass(frozen=True, slots=True)
class IsrChangeNotification(ControllerEvent):
    """A leader changed an ISR in ZooKeeper by itself (protocols before 2.7)."""


@dataclass(frozen=True, slots=True)
class PartitionReassignmentIsrChange(ControllerEvent):
    """The state of a partition that is being reassigned changed (protocols before 2.7)."""

    tp: TopicPartition


@dataclass(frozen=True, slots=True)
class ZkPartitionReassignment(ControllerEvent):
    """Somebody asks for reassignments through ZooKeeper."""


@dataclass(frozen=True, slots=True)
class ZkPreferredReplicaElection(ControllerEvent):
    """Somebody asks for elections of preferred replicas through ZooKeeper."""


@dataclass(frozen=True, slots=True)
class AutoPreferredReplicaLeaderElection(ControllerEvent):
    """It is time to see whether leaders are where they should be."""


@dataclass(frozen=True, slots=True)
class UncleanLeaderElectionEnable(ControllerEvent):
    """Unclean elections were allowed for all topics."""


@dataclass(frozen=True, slots=True)
class TopicUncleanLeaderElectionEnable(ControllerEvent):
    """Unclean elections were allowed for one topic."""

    topic: str


@dataclass(frozen=True, slots=True, eq=False)
class LeaderAndIsrResponseReceived(ControllerEvent):
    """A broker answered a LeaderAndIsr request."""

    response: LeaderAndIsrResponse
    broker_id: int


@dataclass(frozen=True, slots=True, eq=False)
class UpdateMetadataResponseReceived(ControllerEvent):
    """A broker answered an UpdateMetadata request."""

    response: UpdateMetadataResponse
    broker_id: int


@dataclass(frozen=True, slots=True, eq=False)
class TopicDeletionStopReplicaResponseReceived(ControllerEvent):
    """A broker answered a StopReplica request that was to delete replicas."""

    broker_id: int
    request_error: int
    partition_errors: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Ask(ControllerEvent, Generic[Answer]):
    """A request to the controller; its caller awaits `answered`."""

    answered: "Deferred[Answer]" = field(default_factory=Deferred, repr=False)

    def preempt(self) -> None:
        """Answer without having looked, for this broker is not the controller any more."""
        self.fail(NotControllerError())

    def fail(self, error: Exception) -> None:
        """Answer with an error."""
        if not self.answered.called:
            self.answered.errback(error)

    def answer(self, result: Answer) -> None:
        """Answer; a caller that gave up meanwhile hears nothing."""
        if not self.answered.called:
            self.answered.callback(result)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ControlledShutdown(Ask[list[TopicPartition]]):
    """A broker wants to go; the answer names the partitions that it still leads."""

    broker_id: int
    broker_epoch: int

    def preempt(self) -> None:
        """Answer as Kafka does here: the broker asks again."""
        self.fail(ControllerMovedError("Controller moved to another broker"))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AlterIsrReceived(Ask[dict[TopicPartition, LeaderAndIsr | ErrorCode]]):
    """A leader wants other in-sync replicas for partitions that it leads."""

    broker_id: int
    broker_epoch: int
    isrs_to_alter: Mapping[TopicPartition, LeaderAndIsr]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ReplicaLeaderElection(Ask[dict[TopicPartition, int | KafkaError]]):
    """An admin client wants elections; the answer has the new leader or why there is none."""

    partitions: tuple[TopicPartition, ...]
    election_type: ElectionType

    def preempt(self) -> None:
        """Answer for each partition that this broker is not the controller."""
        self.answer({tp: NotControllerError() for tp in self.partitions})


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ApiPartitionReassignment(Ask[dict[TopicPartition, KafkaError | None]]):
    """An admin client moves partitions; None as target cancels a move."""

    reassignments: Mapping[TopicPartition, tuple[int, ...] | None]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ListPartitionReassignments(Ask[dict[TopicPartition, ReplicaAssignment]]):
    """An admin client wants to know which moves (of these partitions) are going on."""

    partitions: tuple[TopicPartition, ...] | None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class UpdateFeatures(Ask[dict[str, KafkaError | None]]):
    """An admin client changes finalized features."""

    request: UpdateFeaturesRequest
