"""A partition that answers fetches from memory, and fails when told to: a fake `Cluster`."""

from collections.abc import Callable
from typing import Any

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode, KafkaError
from kafkalike.protocol.messages.fetch import (
    AbortedTransaction,
    FetchablePartitionResponse,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
)
from kafkalike.protocol.records.record_batch import iter_batches


class FakePartition:
    """Stands in for the cluster and for the connection to the leader; has one partition."""

    def __init__(self, *batches: bytes, start: int = 0) -> None:
        self.data = b"".join(batches)
        self.start = start
        self.aborted: list[AbortedTransaction] = []
        self.failures: list[ErrorCode | KafkaError] = []
        self.fetched: list[tuple[int, int]] = []
        self.forgotten = 0
        self.before_answer: Callable[[], None] = lambda: None
        self._asked: list[FetchRequest] = []

    def leader_connection(self, tp: TopicPartition) -> "FakePartition":
        return self

    def forget(self) -> None:
        self.forgotten += 1
        self._asked.clear()

    def offsets_at(self, partitions: list[TopicPartition], sentinel: int) -> dict[Any, int]:
        return dict.fromkeys(partitions, self.start)

    def version_of(self, request: FetchRequest) -> int:
        return 11

    def send_only(self, request: FetchRequest, version: int) -> int:
        self._asked.append(request)
        return len(self._asked)

    def receive(self, key: ApiKey, version: int, correlation_id: int) -> FetchResponse:
        self.before_answer()
        (asked,) = self._asked.pop(0).topics[0].partitions
        self.fetched.append((asked.fetch_offset, asked.partition_max_bytes))
        part = FetchablePartitionResponse(partition=asked.partition, record_set=memoryview(b""))
        failure = self.failures.pop(0) if self.failures else ErrorCode.NONE
        if isinstance(failure, KafkaError):
            raise failure
        if asked.fetch_offset < self.start:
            failure = ErrorCode.OFFSET_OUT_OF_RANGE
        part.error_code = failure
        if failure is ErrorCode.NONE:
            part.aborted_transactions = self.aborted
            part.record_set = memoryview(self._from(asked.fetch_offset, asked.partition_max_bytes))
        return FetchResponse(
            responses=[FetchableTopicResponse(topic="t", partition_responses=[part])]
        )

    def _from(self, offset: int, max_bytes: int) -> bytes:
        """Return at least the first batch that has the offset or a later one, as brokers do."""
        for position, header in iter_batches(self.data):
            if header.last_offset >= offset:
                return self.data[position : position + max(max_bytes, header.size_in_bytes)]
        return b""
