"""Committed offsets of a group: written and read at its coordinator."""

from collections.abc import Iterable, Mapping
from typing import Final

from kafkalike.client.consumer.coordinator_link import CoordinatorLink
from kafkalike.client.consumer.offsets import OffsetAndMetadata
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode, KafkaError, error_for
from kafkalike.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalike.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic

_NOT_A_MEMBER: Final = {
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.REBALANCE_IN_PROGRESS,
}

Offsets = Mapping[TopicPartition, OffsetAndMetadata]


class CommitFailedError(KafkaError):
    """The group has given the partitions to others: the offsets were not committed."""


class OffsetStore:
    """One group's offsets."""

    def __init__(self, link: CoordinatorLink, group_id: str) -> None:
        self._link = link
        self._group_id = group_id

    async def commit(
        self,
        offsets: Offsets,
        *,
        generation: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
    ) -> None:
        """Commit once; errors that may pass are the caller's to try again."""
        topics: dict[str, OffsetCommitRequestTopic] = {}
        for tp, committed in offsets.items():
            topic = topics.setdefault(tp.topic, OffsetCommitRequestTopic(name=tp.topic))
            topic.partitions.append(
                OffsetCommitRequestPartition(
                    partition_index=tp.partition,
                    committed_offset=committed.offset,
                    committed_leader_epoch=committed.leader_epoch,
                    committed_metadata=committed.metadata or "",
                )
            )
        request = OffsetCommitRequest(
            group_id=self._group_id,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=group_instance_id,
            topics=list(topics.values()),
        )
        answer = await self._link.send(request)
        for topic_answer in answer.topics:
            for part in topic_answer.partitions:
                if part.error_code:
                    tp = TopicPartition(topic_answer.name, part.partition_index)
                    raise self._error(part.error_code, f"committing {tp} in {self._group_id}")

    async def fetch(
        self, partitions: Iterable[TopicPartition] | None, *, require_stable: bool = False
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return what is committed (of all partitions for None); nothing for those that are not."""
        by_topic: dict[str, list[int]] = {}
        for tp in partitions or ():
            by_topic.setdefault(tp.topic, []).append(tp.partition)
        request = OffsetFetchRequest(
            group_id=self._group_id,
            topics=None
            if partitions is None
            else [
                OffsetFetchRequestTopic(name=topic, partition_indexes=numbers)
                for topic, numbers in by_topic.items()
            ],
            require_stable=require_stable,
        )
        answer = await self._link.send(request)
        doing = f"committed offsets of {self._group_id}"
        if answer.error_code:
            raise self._error(answer.error_code, doing)
        found: dict[TopicPartition, OffsetAndMetadata] = {}
        for topic in answer.topics:
            for part in topic.partitions:
                if part.error_code:
                    raise self._error(part.error_code, doing)
                if part.committed_offset >= 0:
                    found[TopicPartition(topic.name, part.partition_index)] = OffsetAndMetadata(
                        part.committed_offset, part.metadata, part.committed_leader_epoch
                    )
        return found

    def _error(self, code: int, doing: str) -> KafkaError:
        error = error_for(code)
        if code in _NOT_A_MEMBER:
            failed = CommitFailedError(
                f"{doing}: {error()} The group has rebalanced meanwhile, and another member may "
                "read the partitions: poll again; if it happens often, poll more often or set "
                "max_poll_interval_ms higher"
            )
            failed.__cause__ = error()
            return failed
        return self._link.note(error(f"{doing}: {error()}"))
