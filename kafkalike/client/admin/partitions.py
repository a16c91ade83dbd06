"""Partitions: leaders, reassignment, offsets, producers, log directories."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafkalike.client.admin.admin_base import (
    AdminBase,
    as_dict,
    as_partitions,
    by_topic,
    check,
    to_error,
)
from kafkalike.client.admin.values import ElectionType, OffsetSpec
from kafkalike.client.consumer.offset_lookup import OffsetLookup
from kafkalike.client.consumer.offsets import OffsetAndTimestamp
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode, KafkaError
from kafkalike.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafkalike.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from kafkalike.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from kafkalike.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kafkalike.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kafkalike.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)

Given = Mapping[str, Iterable[int]] | Iterable[TopicPartition]


class PartitionAdmin(AdminBase):
    """What can be done with partitions and their replicas."""

    async def elect_leaders(
        self,
        election_type: ElectionType | int | str = ElectionType.PREFERRED,
        topic_partitions: Given | None = None,
        timeout_ms: int | None = None,
        raise_errors: bool = True,
    ) -> dict[TopicPartition, KafkaError | None]:
        """Elect leaders (of all partitions by default); what needs no election is no error."""
        if isinstance(election_type, str):
            election_type = ElectionType[election_type.upper()]
        named = None
        if topic_partitions is not None:
            named = [
                TopicPartitions(topic=topic, partition_id=numbers)
                for topic, numbers in by_topic(as_partitions(topic_partitions)).items()
            ]
        request = ElectLeadersRequest(
            election_type=int(election_type),
            topic_partitions=named,
            timeout_ms=timeout_ms or self.timeout_ms,
        )
        answer = await self.ask_controller(request)
        check(answer.error_code, "electing leaders")
        found: dict[TopicPartition, KafkaError | None] = {}
        for topic in answer.replica_election_results:
            for part in topic.partition_result:
                tp = TopicPartition(topic.topic, part.partition_id)
                found[tp] = _problem(part.error_code, f"electing {tp}", part.error_message)
        for problem in found.values():
            is_bad = problem is not None and problem.code != ErrorCode.ELECTION_NOT_NEEDED
            if problem is not None and is_bad and raise_errors:
                raise problem
        return found

    async def alter_partition_reassignments(
        self,
        reassignments: Mapping[TopicPartition, Sequence[int] | None],
        timeout_ms: int | None = None,
    ) -> dict[TopicPartition, KafkaError | None]:
        """Move partitions to other brokers; None cancels a move. Gives the error of each."""
        topics: dict[str, ReassignableTopic] = {}
        for tp, replicas in reassignments.items():
            topic = topics.setdefault(tp[0], ReassignableTopic(name=tp[0]))
            topic.partitions.append(
                ReassignablePartition(
                    partition_index=tp[1], replicas=None if replicas is None else list(replicas)
                )
            )
        request = AlterPartitionReassignmentsRequest(
            timeout_ms=timeout_ms or self.timeout_ms, topics=list(topics.values())
        )
        answer = await self.ask_controller(request)
        check(answer.error_code, "reassigning partitions", answer.error_message)
        found: dict[TopicPartition, KafkaError | None] = {}
        for done in answer.responses:
            for part in done.partitions:
                tp = TopicPartition(done.name, part.partition_index)
                found[tp] = _problem(part.error_code, f"reassigning {tp}", part.error_message)
        return found

    async def list_partition_reassignments(
        self, topic_partitions: Given | None = None, timeout_ms: int | None = None
    ) -> dict[TopicPartition, dict[str, Any]]:
        """Return the partitions that are being moved."""
        named = None
        if topic_partitions is not None:
            named = [
                ListPartitionReassignmentsTopics(name=topic, partition_indexes=numbers)
                for topic, numbers in by_topic(as_partitions(topic_partitions)).items()
            ]
        request = ListPartitionReassignmentsRequest(
            timeout_ms=timeout_ms or self.timeout_ms, topics=named
        )
        answer = await self.ask_controller(request)
        check(answer.error_code, "listing reassignments", answer.error_message)
        found: dict[TopicPartition, dict[str, Any]] = {}
        for topic in answer.topics:
            for part in topic.partitions:
                described = as_dict(part)
                index = described.pop("partition_index")
                found[TopicPartition(topic.name, index)] = described
        return found

    async def list_partition_offsets(
        self,
        topic_partition_specs: Mapping[TopicPartition, OffsetSpec | int],
        isolation_level: int = 0,
        timeout_ms: int | None = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        """Return the earliest, the latest, or the first offset at or after a time."""
        lookup = OffsetLookup(self.client, int(isolation_level))
        times = {TopicPartition(*tp): int(spec) for tp, spec in topic_partition_specs.items()}
        return await lookup.find(times, timeout_ms)

    list_offsets = list_partition_offsets

    async def describe_producers(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, list[dict[str, Any]]]:
        """Return the producers that the leaders of partitions remember."""
        found: dict[TopicPartition, list[dict[str, Any]]] = {}
        for broker_id, led in (await self.by_leader(partitions)).items():
            request = DescribeProducersRequest(
                topics=[
                    TopicRequest(name=topic, partition_indexes=numbers)
                    for topic, numbers in by_topic(led).items()
                ]
            )
            for topic in (await self.ask_broker(broker_id, request)).topics:
                for part in topic.partitions:
                    tp = TopicPartition(topic.name, part.partition_index)
                    check(part.error_code, f"producers of {tp}", part.error_message)
                    found[tp] = [as_dict(producer) for producer in part.active_producers]
        return found

    async def describe_log_dirs(
        self, topic_partitions: Given | None = None, brokers: Iterable[int] | None = None
    ) -> dict[int, list[dict[str, Any]]]:
        """Return, by broker, its log directories and what is in them."""
        named = None
        if topic_partitions is not None:
            named = [
                DescribableLogDirTopic(topic=topic, partition_index=numbers)
                for topic, numbers in by_topic(as_partitions(topic_partitions)).items()
            ]
        found: dict[int, list[dict[str, Any]]] = {}
        for broker_id in await self.broker_ids() if brokers is None else brokers:
            answer = await self.ask_broker(broker_id, DescribeLogDirsRequest(topics=named))
            found[broker_id] = [as_dict(directory) for directory in answer.results]
        return found

    async def alter_replica_log_dirs(
        self, replica_assignments: Mapping[tuple[str, int, int], str]
    ) -> dict[tuple[str, int, int], KafkaError | None]:
        """Move replicas, each (topic, partition, broker id), to another directory of the broker."""
        by_broker: dict[int, dict[str, list[TopicPartition]]] = {}
        for (topic, partition, broker_id), path in replica_assignments.items():
            paths = by_broker.setdefault(broker_id, {})
            paths.setdefault(path, []).append(TopicPartition(topic, partition))
        found: dict[tuple[str, int, int], KafkaError | None] = {}
        for broker_id, paths in by_broker.items():
            request = AlterReplicaLogDirsRequest(
                dirs=[
                    AlterReplicaLogDir(
                        path=path,
                        topics=[
                            AlterReplicaLogDirTopic(name=topic, partitions=numbers)
                            for topic, numbers in by_topic(partitions).items()
                        ],
                    )
                    for path, partitions in paths.items()
                ]
            )
            for done in (await self.ask_broker(broker_id, request)).results:
                for part in done.partitions:
                    key = (done.topic_name, part.partition_index, broker_id)
                    found[key] = _problem(part.error_code, f"moving {key}", None)
        return found


def _problem(code: int, what: str, message: str | None) -> KafkaError | None:
    return None if code == ErrorCode.NONE else to_error(code, what, message)
