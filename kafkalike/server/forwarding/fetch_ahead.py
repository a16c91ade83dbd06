"""What one client connection fetches from one other broker: one fetch in flight at most.

A client's fetch may be answered before this broker's part of it is (records came from elsewhere);
a request cannot be called back. So its answer is kept, and the client's next fetch, which mostly
asks for the same again, finds it. The client limits what is kept: it is what it asked for.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode, KafkaError
from kafkalike.protocol.messages.fetch import (
    FetchablePartitionResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from kafkalike.server.forwarding.upstream import NotSentError, Upstream
from kafkalike.utils.background import Background


class Terms(NamedTuple):
    """How a fetch is sent: what is the same for all its partitions, and how long it may take."""

    version: int
    isolation_level: int
    rack_id: str
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    setup_ms: int
    patience_ms: int


class Question(NamedTuple):
    """What decides the answer for one partition."""

    version: int
    isolation_level: int
    fetch_offset: int
    current_leader_epoch: int
    last_fetched_epoch: int
    partition_max_bytes: int


def question(terms: Terms, wanted: FetchPartition) -> Question:
    """Return what is asked about a partition."""
    return Question(
        terms.version,
        terms.isolation_level,
        wanted.fetch_offset,
        wanted.current_leader_epoch,
        wanted.last_fetched_epoch,
        wanted.partition_max_bytes,
    )


def nobody() -> None:
    """Tell nobody."""


class FetchAhead:
    """The fetch in flight, the answers nobody took yet, and the last known offsets."""

    def __init__(self, upstream: Upstream, background: Background) -> None:
        self._upstream = upstream
        self._background = background
        self._asked: dict[TopicPartition, Question] = {}
        self._answers: dict[TopicPartition, tuple[Question, FetchablePartitionResponse]] = {}
        self._offsets: dict[TopicPartition, FetchablePartitionResponse] = {}
        self.is_in_flight = False
        self.throttle_time_ms = 0
        self.tell: Callable[[], None] = nobody
        """Called when an answer has come, for the client's fetch that waits for it."""

    def is_asking(self, terms: Terms, wanted: Mapping[TopicPartition, FetchPartition]) -> bool:
        """Whether the fetch in flight will answer all of this."""
        return self.is_in_flight and all(
            self._asked.get(tp) == question(terms, one) for tp, one in wanted.items()
        )

    def answer(self, tp: TopicPartition, asked: Question) -> FetchablePartitionResponse | None:
        """Return the answer to a question, if it brought something: records, or an error."""
        kept = self._answers.get(tp)
        return kept[1] if kept is not None and kept[0] == asked else None

    def nothing_new(self, tp: TopicPartition) -> FetchablePartitionResponse | None:
        """Return an answer without records, if the offsets of the partition are known."""
        return self._offsets.get(tp)

    def take(self, tp: TopicPartition) -> None:
        """Forget an answer, because the client has it now."""
        self._answers.pop(tp, None)

    def settle(self) -> None:
        """End a client's fetch: an error is good for one fetch, the next one asks again."""
        self.tell = nobody
        self.throttle_time_ms = 0
        self._answers = {tp: kept for tp, kept in self._answers.items() if not kept[1].error_code}

    def ask(self, terms: Terms, wanted: Mapping[TopicPartition, FetchPartition]) -> None:
        """Send a fetch; `tell` says when its answer is there."""
        assert not self.is_in_flight, "one at a time"
        self.is_in_flight = True
        self._asked = {tp: question(terms, one) for tp, one in wanted.items()}
        # What the client does not ask for any more is not kept for it.
        self._answers = {tp: kept for tp, kept in self._answers.items() if tp in wanted}
        self._background.start(self._fetch(terms, wanted), "forwarded fetch")

    async def _fetch(self, terms: Terms, wanted: Mapping[TopicPartition, FetchPartition]) -> None:
        try:
            response: FetchResponse = await self._upstream.send(
                _request(terms, wanted),
                terms.version,
                setup_ms=terms.setup_ms,
                patience_ms=terms.max_wait_ms + terms.patience_ms,
            )
        except (NotSentError, KafkaError):
            self._refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        else:
            self._keep(response)
        self.is_in_flight = False
        self.tell()

    def _refuse(self, code: ErrorCode) -> None:
        """Let the client ask who leads: this broker could not be asked, and reading is harmless."""
        for tp, asked in self._asked.items():
            self._answers[tp] = asked, refusal(tp, code)

    def _keep(self, response: FetchResponse) -> None:
        self.throttle_time_ms = response.throttle_time_ms
        if response.error_code:
            self._refuse(ErrorCode(response.error_code))
            return
        answers = {
            TopicPartition(topic.topic, answer.partition): answer
            for topic in response.responses
            for answer in topic.partition_responses
        }
        for tp in self._asked:
            self._keep_one(tp, answers.get(tp) or refusal(tp, ErrorCode.UNKNOWN_SERVER_ERROR))

    def _keep_one(self, tp: TopicPartition, answer: FetchablePartitionResponse) -> None:
        if not answer.error_code:
            self._offsets[tp] = without_records(answer)
        if is_urgent(answer) or answer.record_set:
            self._answers[tp] = self._asked[tp], answer
        else:
            self._answers.pop(tp, None)


def is_urgent(answer: FetchablePartitionResponse) -> bool:
    """Whether the client must have an answer at once, however little it is."""
    return bool(
        answer.error_code or answer.diverging_epoch.epoch >= 0 or answer.preferred_read_replica >= 0
    )


def refusal(tp: TopicPartition, code: ErrorCode) -> FetchablePartitionResponse:
    """Answer with an error."""
    return FetchablePartitionResponse(
        partition=tp.partition, error_code=code, high_watermark=-1, record_set=b""
    )


def without_records(answer: FetchablePartitionResponse) -> FetchablePartitionResponse:
    """Return an answer that tells the offsets alone."""
    return FetchablePartitionResponse(
        partition=answer.partition,
        high_watermark=answer.high_watermark,
        last_stable_offset=answer.last_stable_offset,
        log_start_offset=answer.log_start_offset,
        aborted_transactions=None,
        record_set=b"",
    )


def _request(terms: Terms, wanted: Mapping[TopicPartition, FetchPartition]) -> FetchRequest:
    topics: dict[str, FetchTopic] = {}
    for tp, one in wanted.items():
        topics.setdefault(tp.topic, FetchTopic(topic=tp.topic, partitions=[])).partitions.append(
            one
        )
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=terms.max_wait_ms,
        min_bytes=terms.min_bytes,
        max_bytes=terms.max_bytes,
        isolation_level=terms.isolation_level,
        session_epoch=-1,  # the session is between the client and this broker
        topics=list(topics.values()),
        rack_id=terms.rack_id,
    )
