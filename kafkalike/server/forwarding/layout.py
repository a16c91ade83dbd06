"""Where the partitions stand in the messages of an API: how requests are split, answers merged.

All APIs that speak of partitions have them in two levels, topics and their partitions; only the
names of the fields differ. One `Layout` per API says them.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from operator import attrgetter
from typing import Any, NamedTuple

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from kafkalike.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kafkalike.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from kafkalike.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from kafkalike.protocol.schema import Message
from kafkalike.protocol.structs import Struct


class Fields(NamedTuple):
    """The names of the fields that hold topics, a topic's name, its partitions, their number."""

    topics: str
    topic: str
    partitions: str
    partition: str


# Any: each API has structs of its own; the tests walk all of them.
class Layout:
    """The shape of one API."""

    def __init__(
        self,
        request: Fields,
        response: Fields,
        response_class: type[Message],
        topic_class: type[Struct],
        refusal: Callable[[int, ErrorCode], Struct],
    ) -> None:
        self._request = request
        self._response = response
        self._response_class = response_class
        self._topic_class = topic_class
        self._refusal = refusal
        self._topics: Callable[[Any], Iterable[Any]] = attrgetter(request.topics)
        self._topic: Callable[[Any], str] = attrgetter(request.topic)
        self._partitions: Callable[[Any], Iterable[Any]] = attrgetter(request.partitions)
        self._partition: Callable[[Any], int] = attrgetter(request.partition)

    def is_only(self, request: Message, partitions: Mapping[Any, Any], leader: int) -> bool:
        """Whether all partitions of a request are here and led by this broker.

        Asked of every request: a plain tuple is as good a key as a `TopicPartition`, and made in a
        fraction of the time.
        """
        index = self._partition
        for topic in self._topics(request):
            name = self._topic(topic)
            for partition in self._partitions(topic):
                here = partitions.get((name, index(partition)))
                if here is None or here.leader != leader:
                    return False
        return True

    def topic_names(self, request: Message) -> list[str]:
        """Give the names of the topics that a request speaks of."""
        return [self._topic(topic) for topic in self._topics(request)]

    def split(
        self, request: Message, owner: Callable[[TopicPartition], int | None]
    ) -> dict[int | None, Message]:
        """Return a request for each owner, with its partitions alone and in their order."""
        parts: dict[int | None, dict[str, Any]] = defaultdict(dict)
        for topic, partition, tp in self._all(request):
            topics = parts[owner(tp)]
            if tp.topic not in topics:
                topics[tp.topic] = copy(topic)
                setattr(topics[tp.topic], self._request.partitions, [])
            getattr(topics[tp.topic], self._request.partitions).append(partition)
        return {broker: self._part(request, topics.values()) for broker, topics in parts.items()}

    def merge(self, request: Message, answers: Sequence[Any]) -> Message:
        """Make one answer of several, in the order of the request.

        A partition that was not answered has an error; the throttle time is the largest.
        """
        found: dict[TopicPartition, deque[Any]] = defaultdict(deque)
        for answer in answers:
            for tp, one in self._answered(answer):
                found[tp].append(one)
        ordered = (
            (tp, found[tp].popleft() if found[tp] else self._refusal(tp.partition, _NO_ANSWER))
            for _, _, tp in self._all(request)
        )
        throttle_time_ms = max(answer.throttle_time_ms for answer in answers)
        return self._answer(ordered, throttle_time_ms)

    def refuse(self, request: Message, code: ErrorCode) -> Message:
        """Answer every partition of a request with an error."""
        refused = ((tp, self._refusal(tp.partition, code)) for _, _, tp in self._all(request))
        return self._answer(refused)

    def _all(self, request: Message) -> Iterator[tuple[Any, Any, TopicPartition]]:
        for topic in self._topics(request):
            name = self._topic(topic)
            for partition in self._partitions(topic):
                yield topic, partition, TopicPartition(name, self._partition(partition))

    def _part(self, request: Message, topics: Iterable[Any]) -> Message:
        part = copy(request)
        setattr(part, self._request.topics, list(topics))
        return part

    def _answered(self, answer: Message) -> Iterator[tuple[TopicPartition, Any]]:
        fields = self._response
        for topic in getattr(answer, fields.topics):
            name = getattr(topic, fields.topic)
            for one in getattr(topic, fields.partitions):
                yield TopicPartition(name, getattr(one, fields.partition)), one

    def _answer(
        self, answers: Iterable[tuple[TopicPartition, Any]], throttle_time_ms: int = 0
    ) -> Message:
        fields = self._response
        topics: dict[str, list[Any]] = {}
        for tp, one in answers:
            topics.setdefault(tp.topic, []).append(one)
        found = [
            self._topic_class(**{fields.topic: name, fields.partitions: partitions})
            for name, partitions in topics.items()
        ]
        return self._response_class(throttle_time_ms=throttle_time_ms, **{fields.topics: found})


_NO_ANSWER = ErrorCode.UNKNOWN_SERVER_ERROR

PRODUCE = Layout(
    Fields("topic_data", "name", "partition_data", "index"),
    Fields("responses", "name", "partition_responses", "index"),
    ProduceResponse,
    TopicProduceResponse,
    lambda index, code: PartitionProduceResponse(index=index, error_code=code, base_offset=-1),
)
LIST_OFFSETS = Layout(
    Fields("topics", "name", "partitions", "partition_index"),
    Fields("topics", "name", "partitions", "partition_index"),
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
    lambda index, code: ListOffsetsPartitionResponse(partition_index=index, error_code=code),
)
OFFSET_FOR_LEADER_EPOCH = Layout(
    Fields("topics", "topic", "partitions", "partition"),
    Fields("topics", "topic", "partitions", "partition"),
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
    lambda index, code: EpochEndOffset(partition=index, error_code=code),
)
DELETE_RECORDS = Layout(
    Fields("topics", "name", "partitions", "partition_index"),
    Fields("topics", "name", "partitions", "partition_index"),
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
    lambda index, code: DeleteRecordsPartitionResult(
        partition_index=index, error_code=code, low_watermark=-1
    ),
)
