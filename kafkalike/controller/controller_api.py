"""What request handlers ask of the controller: each call is an event that waits for its turn.

Where this broker is not the controller, NotControllerError (or Kafka's like for that API).
"""

from collections.abc import Callable, Iterable, Mapping

from kafkalike.controller.events import (
    AlterIsrReceived,
    ApiPartitionReassignment,
    ControlledShutdown,
    ControllerEvent,
    ElectionType,
    ListPartitionReassignments,
    ReplicaLeaderElection,
    TopicUncleanLeaderElectionEnable,
    UncleanLeaderElectionEnable,
    UpdateFeatures,
)
from kafkalike.model.leader_and_isr import LeaderAndIsr
from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode, KafkaError
from kafkalike.protocol.messages.alter_isr import (
    AlterIsrRequest,
    AlterIsrResponse,
    AlterIsrResponsePartitionData,
    AlterIsrResponseTopicData,
)
from kafkalike.protocol.messages.update_features import UpdateFeaturesRequest


class ControllerApi:
    """The face of the controller towards the server; a base class of `KafkaController`."""

    def __init__(self, put_event: Callable[[ControllerEvent], None]) -> None:
        self._put_event = put_event

    async def controlled_shutdown(self, broker_id: int, broker_epoch: int) -> list[TopicPartition]:
        """Move leaderships away from a broker; give the partitions that it still leads."""
        asked = ControlledShutdown(broker_id=broker_id, broker_epoch=broker_epoch)
        self._put_event(asked)
        return await asked.answered

    async def alter_isr(self, request: AlterIsrRequest) -> AlterIsrResponse:
        """Change in-sync replicas as their leader asks."""
        asked = AlterIsrReceived(
            broker_id=request.broker_id,
            broker_epoch=request.broker_epoch,
            isrs_to_alter=_isrs_to_alter(request),
        )
        self._put_event(asked)
        try:
            return _alter_isr_response(await asked.answered)
        except KafkaError as error:
            return AlterIsrResponse(error_code=error.code)

    async def elect_leaders(
        self, partitions: Iterable[TopicPartition], election_type: ElectionType
    ) -> dict[TopicPartition, int | KafkaError]:
        """Elect leaders; for each partition the new one, or why there is none."""
        asked = ReplicaLeaderElection(
            partitions=tuple(dict.fromkeys(partitions)), election_type=election_type
        )
        self._put_event(asked)
        return await asked.answered

    async def alter_partition_reassignments(
        self, reassignments: Mapping[TopicPartition, tuple[int, ...] | None]
    ) -> dict[TopicPartition, KafkaError | None]:
        """Move partitions to other replicas, None to stop a move; for each what was wrong."""
        asked = ApiPartitionReassignment(reassignments=reassignments)
        self._put_event(asked)
        return await asked.answered

    async def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, ReplicaAssignment]:
        """Give the moves that are going on, all or those of these partitions."""
        asked = ListPartitionReassignments(
            partitions=None if partitions is None else tuple(partitions)
        )
        self._put_event(asked)
        return await asked.answered

    async def update_features(self, request: UpdateFeaturesRequest) -> dict[str, KafkaError | None]:
        """Change finalized features; for each what was wrong, or None."""
        asked = UpdateFeatures(request=request)
        self._put_event(asked)
        return await asked.answered

    def enable_default_unclean_leader_election(self) -> None:
        """Look again at partitions without leader: unclean elections are allowed now."""
        self._put_event(UncleanLeaderElectionEnable())

    def enable_topic_unclean_leader_election(self, topic: str) -> None:
        """Look again at a topic's partitions without leader: they may be unclean now."""
        self._put_event(TopicUncleanLeaderElectionEnable(topic))


def _isrs_to_alter(request: AlterIsrRequest) -> dict[TopicPartition, LeaderAndIsr]:
    return {
        TopicPartition(topic.name, partition.partition_index): LeaderAndIsr(
            request.broker_id,
            partition.leader_epoch,
            tuple(partition.new_isr),
            partition.current_isr_version,
        )
        for topic in request.topics
        for partition in topic.partitions
    }


def _alter_isr_response(
    outcome: Mapping[TopicPartition, LeaderAndIsr | ErrorCode],
) -> AlterIsrResponse:
    topics: dict[str, AlterIsrResponseTopicData] = {}
    for tp, result in outcome.items():
        topic = topics.setdefault(tp.topic, AlterIsrResponseTopicData(name=tp.topic))
        topic.partitions.append(_alter_isr_partition(tp.partition, result))
    return AlterIsrResponse(topics=list(topics.values()))


def _alter_isr_partition(
    partition: int, result: LeaderAndIsr | ErrorCode
) -> AlterIsrResponsePartitionData:
    if isinstance(result, ErrorCode):
        return AlterIsrResponsePartitionData(partition_index=partition, error_code=result)
    return AlterIsrResponsePartitionData(
        partition_index=partition,
        leader_id=result.leader,
        leader_epoch=result.leader_epoch,
        isr=result.isr,
        current_isr_version=result.zk_version,
    )
