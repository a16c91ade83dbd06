"""Topics: create, delete, list, describe, add partitions, delete records."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafkalike.client.admin.admin_base import AdminBase, as_dict, by_topic, check
from kafkalike.client.admin.values import NewPartitions, NewTopic
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode, RequestTimedOutError, error_for
from kafkalike.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafkalike.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateableTopicConfig,
    CreateTopicsRequest,
)
from kafkalike.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkalike.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkalike.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic


class TopicAdmin(AdminBase):
    """What can be done with topics."""

    async def create_topics(
        self,
        new_topics: Iterable[NewTopic | str] | Mapping[str, Mapping[str, Any]],
        timeout_ms: int | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
        wait_for_metadata: bool = False,
    ) -> dict[str, Any]:
        """Create topics; raises the first error unless told to leave errors in the answer."""
        topics = [_creatable(topic) for topic in _as_new_topics(new_topics)]
        request = CreateTopicsRequest(
            topics=topics, timeout_ms=timeout_ms or self.timeout_ms, validate_only=validate_only
        )
        answer = await self.ask_controller(request)
        for topic in answer.topics:
            if raise_errors:
                check(topic.error_code, f"creating topic {topic.name}", topic.error_message)
        if wait_for_metadata and not validate_only:
            await self.wait_for_topics([topic.name for topic in topics])
        return as_dict(answer)

    async def delete_topics(
        self, topics: Iterable[str], timeout_ms: int | None = None, raise_errors: bool = True
    ) -> dict[str, Any]:
        """Delete topics."""
        names = list(topics)
        request = DeleteTopicsRequest(
            topics=[DeleteTopicState(name=name) for name in names],
            topic_names=names,
            timeout_ms=timeout_ms or self.timeout_ms,
        )
        answer = await self.ask_controller(request)
        for topic in answer.responses:
            if raise_errors:
                check(topic.error_code, f"deleting topic {topic.name}", topic.error_message)
        return as_dict(answer)

    async def list_topics(self) -> list[str]:
        """Return the names of all topics."""
        return [topic["name"] for topic in await self.describe_topics()]

    async def describe_topics(self, topics: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """Return what is known of topics (of all by default), with their partitions."""
        named = None
        if topics is not None:
            named = [MetadataRequestTopic(name=name) for name in topics]
        answer = await self.ask_any(
            MetadataRequest(
                topics=named,
                allow_auto_topic_creation=False,
                include_topic_authorized_operations=False,
            )
        )
        return [as_dict(topic) for topic in answer.topics]

    async def wait_for_topics(self, topic_names: Iterable[str], timeout_ms: int = 10_000) -> None:
        """Wait until all brokers can be expected to know the topics, and all have leaders."""
        names = list(topic_names)
        deadline_ms = self.client.time.now_ms() + timeout_ms
        while True:
            described = await self.describe_topics(names)
            missing = [topic["name"] for topic in described if not _is_ready(topic)]
            if not missing:
                return
            if self.client.time.now_ms() >= deadline_ms:
                raise RequestTimedOutError(
                    f"topics {', '.join(missing)} have no leaders after {timeout_ms} ms"
                )
            await self.client.time.sleep_ms(self.client.config.retry_backoff_ms)

    async def create_partitions(
        self,
        topic_partitions: Mapping[str, NewPartitions | int],
        timeout_ms: int | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
    ) -> dict[str, Any]:
        """Let topics have more partitions."""
        request = CreatePartitionsRequest(
            topics=[_grown(name, given) for name, given in topic_partitions.items()],
            timeout_ms=timeout_ms or self.timeout_ms,
            validate_only=validate_only,
        )
        answer = await self.ask_controller(request)
        for topic in answer.results:
            if raise_errors:
                what = f"adding partitions to topic {topic.name}"
                check(topic.error_code, what, topic.error_message)
        return as_dict(answer)

    async def delete_records(
        self, records_to_delete: Mapping[TopicPartition, int], timeout_ms: int | None = None
    ) -> dict[TopicPartition, dict[str, Any]]:
        """Delete all records before the given offsets (-1: all there are)."""
        found: dict[TopicPartition, dict[str, Any]] = {}
        for broker_id, partitions in (await self.by_leader(records_to_delete)).items():
            request = DeleteRecordsRequest(
                topics=[
                    DeleteRecordsTopic(
                        name=topic,
                        partitions=[
                            DeleteRecordsPartition(
                                partition_index=p,
                                offset=records_to_delete[TopicPartition(topic, p)],
                            )
                            for p in numbers
                        ],
                    )
                    for topic, numbers in by_topic(partitions).items()
                ],
                timeout_ms=timeout_ms or self.timeout_ms,
            )
            answer = await self.ask_broker(broker_id, request)
            for topic in answer.topics:
                for part in topic.partitions:
                    tp = TopicPartition(topic.name, part.partition_index)
                    check(part.error_code, f"deleting records of {tp}")
                    found[tp] = as_dict(part)
        return found


def _as_new_topics(given: Any) -> list[NewTopic]:
    if isinstance(given, Mapping):
        return [
            NewTopic(
                name,
                options.get("num_partitions", -1),
                options.get("replication_factor", -1),
                options.get("assignments", {}),
                options.get("configs", {}),
            )
            for name, options in given.items()
        ]
    return [NewTopic(topic) if isinstance(topic, str) else topic for topic in given]


def _creatable(topic: NewTopic) -> CreatableTopic:
    has_places = bool(topic.replica_assignments)
    return CreatableTopic(
        name=topic.name,
        num_partitions=-1 if has_places else topic.num_partitions,
        replication_factor=-1 if has_places else topic.replication_factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=list(brokers))
            for index, brokers in (topic.replica_assignments or {}).items()
        ],
        configs=[
            CreateableTopicConfig(name=name, value=str(value))
            for name, value in (topic.topic_configs or {}).items()
        ],
    )


def _grown(name: str, given: NewPartitions | int) -> CreatePartitionsTopic:
    wanted = NewPartitions(given) if isinstance(given, int) else given
    places: Sequence[Sequence[int]] | None = wanted.new_assignments
    return CreatePartitionsTopic(
        name=name,
        count=wanted.total_count,
        assignments=None
        if places is None
        else [CreatePartitionsAssignment(broker_ids=list(brokers)) for brokers in places],
    )


def _is_ready(topic: dict[str, Any]) -> bool:
    code = topic["error_code"]
    if code and not error_for(code).retriable:
        check(code, f"topic {topic['name']}")
    return code == ErrorCode.NONE and all(p["leader_id"] >= 0 for p in topic["partitions"])
