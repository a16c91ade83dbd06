"""Fetches ahead of the program: one request per broker at a time (Kafka's `Fetcher`).

Answers are kept as they come and opened when the program polls. While one answer of a partition is
being taken the next is fetched already (Kafka's client waits), as long as all that is kept is less
than `fetch_max_bytes`.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

from kafkalike.client.consumer.completed_fetch import CompletedFetch
from kafkalike.client.consumer.consumer_config import ConsumerConfig
from kafkalike.client.consumer.consumer_record import Records
from kafkalike.client.consumer.subscription_state import PartitionState, SubscriptionState
from kafkalike.client.kafka_client import KafkaClient
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    ErrorCode,
    KafkaError,
    OffsetOutOfRangeError,
    TopicAuthorizationError,
    error_for,
)
from kafkalike.protocol.messages.fetch import (
    FetchablePartitionResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)

_NO_SESSION: Final = -1
_STALE_METADATA: Final = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.OFFSET_NOT_AVAILABLE,
}

Wanted = dict[TopicPartition, tuple[PartitionState, int, int]]
"""What a request asks for: state, position and number of seeks at that time."""


class Fetcher:
    """Sends fetches, keeps their answers, gives their records. `wake` tells that there is news."""

    def __init__(
        self,
        client: KafkaClient,
        config: ConsumerConfig,
        subscription: SubscriptionState,
        wake: Callable[[], None],
    ) -> None:
        self._client = client
        self._config = config
        self._subscription = subscription
        self._wake = wake
        self._completed: deque[CompletedFetch] = deque()
        self._asked: set[TopicPartition] = set()
        self._busy_nodes: set[int] = set()
        self._errors: deque[Exception] = deque()
        self.bytes_fetched = 0
        self.records_taken = 0

    @property
    def has_completed(self) -> bool:
        """Whether something waits to be taken."""
        return bool(self._completed) or bool(self._errors)

    def send_fetches(self) -> None:
        """Ask every broker that is not busy for what is wanted of it."""
        for node_id, wanted in self._wanted_by_node().items():
            if node_id not in self._busy_nodes:
                self._busy_nodes.add(node_id)
                self._asked.update(wanted)
                self._client.background.start(self._fetch(node_id, wanted), "fetch")

    def collect(self, max_records: int) -> Records:
        """Return records that were fetched, at most so many; raises what went wrong."""
        found: Records = {}
        left = max_records
        while left and self._completed:
            fetch = self._completed[0]
            if fetch.is_stale:
                self._completed.popleft()
                continue
            if fetch.state.is_paused:
                if all(other.state.is_paused for other in self._completed):
                    break
                self._completed.rotate(-1)
                continue
            try:
                records = fetch.take(left)
            except KafkaError:
                if found:
                    break  # It is raised the next time: what is read already comes first.
                raise
            if not records:
                self._completed.popleft()
                continue
            have = found.get(fetch.tp)
            if have is None:
                found[fetch.tp] = records
            else:
                have += records
            left -= len(records)
        if not found and self._errors:
            raise self._errors.popleft()
        self.records_taken += max_records - left
        return found

    def forget_stale(self) -> None:
        """Drop what was fetched of partitions that are gone or were sought in."""
        self._completed = deque(fetch for fetch in self._completed if not fetch.is_stale)

    def _wanted_by_node(self) -> Mapping[int, Wanted]:
        snapshot = self._client.metadata.snapshot
        now_ms = self._client.time.now_ms()
        ahead = self._positions_ahead()
        by_node: dict[int, Wanted] = {}
        for tp, state in self._subscription.partitions.items():
            position = ahead.get(tp, state.position)
            if position is None or state.is_paused or tp in self._asked:
                continue
            if state.retry_at_ms > now_ms:
                continue
            leader = snapshot.leader(tp)
            if leader is None:
                self._client.metadata.add_topics([tp.topic])
                self._client.metadata.request_refresh()
                continue
            node_id = leader.id
            if state.preferred_replica in snapshot.brokers:
                node_id = state.preferred_replica or 0
            by_node.setdefault(node_id, {})[tp] = (state, position, state.seeks)
        return by_node

    def _positions_ahead(self) -> dict[TopicPartition, int | None]:
        """Return where to go on behind what is kept; None if enough is kept."""
        kept = [fetch for fetch in self._completed if not fetch.is_stale]
        is_full = sum(fetch.size for fetch in kept) >= self._config.fetch_max_bytes
        ahead: dict[TopicPartition, int | None] = {}
        for fetch in kept:
            is_second = fetch.tp in ahead
            ahead[fetch.tp] = None if is_full or is_second else fetch.next_offset
        return ahead

    async def _fetch(self, node_id: int, wanted: Wanted) -> None:
        try:
            answer: FetchResponse = await self._client.send(node_id, self._request(wanted))
            if answer.error_code:
                raise error_for(answer.error_code)(f"fetch from broker {node_id}")
        except KafkaError:
            self._client.metadata.request_refresh()
            self._retry_later(wanted)
        else:
            self._keep(answer, wanted)
        finally:
            self._busy_nodes.discard(node_id)
            self._asked.difference_update(wanted)
        self._wake()

    def _request(self, wanted: Wanted) -> FetchRequest:
        topics: dict[str, FetchTopic] = {}
        snapshot = self._client.metadata.snapshot
        for tp, (_, position, _) in wanted.items():
            topic = topics.get(tp.topic)
            if topic is None:
                topic = topics[tp.topic] = FetchTopic(topic=tp.topic)
            known = snapshot.partition(tp)
            topic.partitions.append(
                FetchPartition(
                    partition=tp.partition,
                    current_leader_epoch=-1 if known is None else known.leader_epoch,
                    fetch_offset=position,
                    log_start_offset=-1,
                    partition_max_bytes=self._config.max_partition_fetch_bytes,
                )
            )
        return FetchRequest(
            replica_id=-1,
            max_wait_ms=self._config.fetch_max_wait_ms,
            min_bytes=self._config.fetch_min_bytes,
            max_bytes=self._config.fetch_max_bytes,
            isolation_level=self._config.isolation,
            session_epoch=_NO_SESSION,
            topics=list(topics.values()),
            rack_id=self._config.client_rack,
        )

    def _retry_later(self, wanted: Wanted) -> None:
        pause_ms = self._config.retry_backoff_ms
        for state, _, _ in wanted.values():
            state.retry_at_ms = self._client.time.now_ms() + pause_ms
            state.preferred_replica = None
        self._client.time.call_later_ms(pause_ms, self._wake)

    def _keep(self, answer: FetchResponse, wanted: Wanted) -> None:
        for topic in answer.responses:
            for part in topic.partition_responses:
                tp = TopicPartition(topic.topic, part.partition)
                asked = wanted.get(tp)
                if asked is None:
                    continue
                state, _, seeks = asked
                if not state.is_assigned or state.seeks != seeks:
                    continue
                if part.error_code and self._keeps_some_of(tp):
                    self._retry_later({tp: asked})  # It counts once what is kept has been taken.
                elif part.error_code:
                    self._handle_error(tp, state, part)
                else:
                    self._keep_part(tp, state, part)

    def _keeps_some_of(self, tp: TopicPartition) -> bool:
        return any(fetch.tp == tp and not fetch.is_stale for fetch in self._completed)

    def _keep_part(
        self, tp: TopicPartition, state: PartitionState, part: FetchablePartitionResponse
    ) -> None:
        state.high_watermark = part.high_watermark
        state.last_stable_offset = part.last_stable_offset
        state.log_start_offset = part.log_start_offset
        if part.preferred_read_replica >= 0:
            state.preferred_replica = part.preferred_read_replica
        data = part.record_set
        if not isinstance(data, memoryview) or not len(data):
            return
        self.bytes_fetched += len(data)
        aborted = part.aborted_transactions if self._config.isolation else None
        if self._config.isolation and aborted is None:
            aborted = []
        self._completed.append(
            CompletedFetch(tp, state, data, aborted=aborted, check_crcs=self._config.check_crcs)
        )

    def _handle_error(
        self, tp: TopicPartition, state: PartitionState, part: FetchablePartitionResponse
    ) -> None:
        code = part.error_code
        if code in _STALE_METADATA:
            self._client.metadata.request_refresh()
            self._retry_later({tp: (state, 0, 0)})
        elif code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._out_of_range(tp, state)
        elif code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            self._retry_later({tp: (state, 0, 0)})
            self._errors.append(TopicAuthorizationError(f"not allowed to read {tp.topic}"))
        else:
            self._retry_later({tp: (state, 0, 0)})
            error = error_for(code)
            if not error.retriable:
                self._errors.append(error(f"{tp} at offset {state.position}: {error()}"))

    def _out_of_range(self, tp: TopicPartition, state: PartitionState) -> None:
        if state.preferred_replica is not None:
            state.preferred_replica = None  # A follower may lag behind: the leader knows.
        elif self._config.reset_strategy != "none":
            state.request_reset(self._config.reset_strategy)
        else:
            self._retry_later({tp: (state, 0, 0)})
            self._errors.append(
                OffsetOutOfRangeError(
                    f"{tp}: there is no offset {state.position} and auto_offset_reset is none: "
                    "seek to an offset that exists"
                )
            )
