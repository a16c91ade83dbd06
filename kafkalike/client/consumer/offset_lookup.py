"""Asks leaders which offsets their partitions have: first, last, at a time (ListOffsets)."""

from collections.abc import Mapping
from typing import Final

from kafkalike.client.consumer.offsets import OffsetAndTimestamp
from kafkalike.client.kafka_client import KafkaClient
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    ErrorCode,
    KafkaError,
    LeaderNotAvailableError,
    error_for,
)
from kafkalike.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkalike.utils.gather import gather

LATEST: Final = -1
EARLIEST: Final = -2

Found = dict[TopicPartition, OffsetAndTimestamp]


class OffsetLookup:
    """Finds offsets by time for any partitions, whoever leads them."""

    def __init__(self, client: KafkaClient, isolation: int) -> None:
        self._client = client
        self._isolation = isolation

    async def find(
        self, times: Mapping[TopicPartition, int], timeout_ms: int | None = None
    ) -> Found:
        """Return the first offset at or after each time; -1 as offset where there is none.

        Tries again until all partitions have answered or the time is up.
        """
        found: Found = {}

        async def ask_the_rest() -> None:
            await self._ask({tp: time for tp, time in times.items() if tp not in found}, found)

        await self._client.retrying(ask_the_rest, timeout_ms)
        return found

    async def _ask(self, times: Mapping[TopicPartition, int], found: Found) -> None:
        metadata = self._client.metadata
        new = metadata.add_topics(tp.topic for tp in times)
        if new or any(metadata.snapshot.leader(tp) is None for tp in times):
            await metadata.refresh()
        by_node: dict[int, dict[TopicPartition, int]] = {}
        for tp, time in times.items():
            leader = metadata.snapshot.leader(tp)
            if leader is None:
                raise LeaderNotAvailableError(f"{tp} has no leader at the moment")
            by_node.setdefault(leader.id, {})[tp] = time
        problems = await gather(
            self._ask_node(node_id, part, found) for node_id, part in by_node.items()
        )
        for problem in problems:
            if problem is not None:
                raise problem

    async def _ask_node(
        self, node_id: int, times: Mapping[TopicPartition, int], found: Found
    ) -> KafkaError | None:
        try:
            answer = await self._client.send(node_id, self._request(times), purpose="offsets")
        except KafkaError as error:
            return error
        problem: KafkaError | None = None
        for topic in answer.topics:
            for part in topic.partitions:
                tp = TopicPartition(topic.name, part.partition_index)
                if part.error_code == ErrorCode.NONE:
                    found[tp] = OffsetAndTimestamp(part.offset, part.timestamp, part.leader_epoch)
                else:
                    refused = error_for(part.error_code)
                    problem = refused(f"offsets of {tp}: {refused()}")
        return problem

    def _request(self, times: Mapping[TopicPartition, int]) -> ListOffsetsRequest:
        topics: dict[str, ListOffsetsTopic] = {}
        for tp, time in times.items():
            topic = topics.setdefault(tp.topic, ListOffsetsTopic(name=tp.topic))
            known = self._client.metadata.snapshot.partition(tp)
            topic.partitions.append(
                ListOffsetsPartition(
                    partition_index=tp.partition,
                    current_leader_epoch=-1 if known is None else known.leader_epoch,
                    timestamp=time,
                )
            )
        return ListOffsetsRequest(
            replica_id=-1, isolation_level=self._isolation, topics=list(topics.values())
        )
