"""Replicates from one leader: fetches all partitions that it leads and this broker follows.

Kafka's `ReplicaFetcherThread` as a coroutine. It runs while it has partitions, waits at the leader
when there is nothing new, and is over as soon as the last partition is taken away.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectError, DNSLookupError
from twisted.logger import Logger

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    CorruptRecordError,
    ErrorCode,
    InvalidRecordError,
    KafkaError,
    ProtocolError,
)
from kafkalike.protocol.messages.fetch import (
    FetchablePartitionResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
)
from kafkalike.protocol.schema import Message
from kafkalike.quota.replication_quota import ReplicationQuota
from kafkalike.replication.fetch_state import (
    PartitionFetchState,
    ReplicaState,
    after_truncation,
    resolve_out_of_range,
)
from kafkalike.replication.fetched_records import FollowerLogs, take_answer, truncate
from kafkalike.replication.follower_session import FollowerSession
from kafkalike.replication.leader_offsets import fetch_leader_offsets
from kafkalike.utils.background import Background
from kafkalike.utils.time import Time, Timer

log = Logger()

_THROTTLE_PAUSE_MS = 200
_NETWORK_ERRORS = (KafkaError, ProtocolError, ConnectError, DNSLookupError, OSError)


class LeaderChannel(Protocol):
    """A way to the leader; it connects at the first `send`, and after a failed one it is closed."""

    async def send(self, request: Message, version: int) -> Message:
        """Send a request and give the answer, or raise."""

    def close(self) -> None:
        """Close; a request in flight fails."""


class FetcherSettings(NamedTuple):
    """Kafka's keys, without `replica.fetch.` in front."""

    replica_id: int
    fetch_version: int
    list_offsets_version: int
    wait_max_ms: int
    min_bytes: int
    max_bytes: int
    response_max_bytes: int
    backoff_ms: int


class ReplicaFetcher:
    """One coroutine for one leader. Partitions come and go between its steps."""

    def __init__(
        self,
        leader_id: int,
        connect: Callable[[], LeaderChannel],
        logs: FollowerLogs,
        settings: Callable[[], FetcherSettings],
        quota: ReplicationQuota,
        time: Time,
    ) -> None:
        self.leader_id = leader_id
        self._connect = connect
        self._logs = logs
        self._settings = settings
        self._quota = quota
        self._time = time
        self._states: dict[TopicPartition, PartitionFetchState] = {}
        self._session = FollowerSession()
        self._channel: LeaderChannel | None = None
        self._background = Background()
        self._is_running = False
        self._idle: Deferred[None] | None = None
        self._timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._states)

    def add_partitions(self, states: Mapping[TopicPartition, PartitionFetchState]) -> None:
        """Fetch these too; one that is there already stays as it is in the same epoch."""
        for tp, state in states.items():
            known = self._states.get(tp)
            if known is None or known.current_leader_epoch != state.current_leader_epoch:
                self._states[tp] = state
        if not self._is_running:
            self._is_running = True
            self._background.start(self._run(), f"replication from broker {self.leader_id}")
        else:
            self._wake()

    def remove_partitions(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch these no longer; an answer that is under way is ignored."""
        for tp in partitions:
            self._states.pop(tp, None)
        if not self._states:
            self._wake()

    def close(self) -> None:
        """Stop."""
        self._states.clear()
        self._background.stop()
        self._disconnect()
        if self._timer is not None and self._timer.active():
            self._timer.cancel()

    async def _run(self) -> None:
        try:
            while self._states:
                self._truncate_to_high_watermarks()
                wanted = self._wanted()
                if wanted:
                    await self._fetch(wanted)
                else:
                    await self._until_something_is_ready()
        finally:
            self._is_running = False
            self._disconnect()

    # --- what to fetch

    def _wanted(self) -> dict[TopicPartition, FetchPartition]:
        now_ms = self._time.now_ms()
        max_bytes = self._settings().max_bytes
        wanted = {}
        for tp, state in self._states.items():
            if not state.is_ready_for_fetch(now_ms) or self._must_wait(tp, state, now_ms):
                continue
            local_log = self._logs.get_log(tp)
            if local_log is None:
                continue
            wanted[tp] = FetchPartition(
                partition=tp.partition,
                current_leader_epoch=state.current_leader_epoch,
                fetch_offset=state.fetch_offset,
                last_fetched_epoch=state.last_fetched_epoch,
                log_start_offset=local_log.log_start_offset,
                partition_max_bytes=max_bytes,
            )
        return wanted

    def _must_wait(self, tp: TopicPartition, state: PartitionFetchState, now_ms: int) -> bool:
        """Whether the throttle holds up this partition, which is not in sync (KIP-73)."""
        return not state.is_in_sync and self._quota.must_wait(tp, now_ms)

    async def _until_something_is_ready(self) -> None:
        """Sleep until a delay is over, a throttle may be, or partitions come or go."""
        now_ms = self._time.now_ms()
        waits_ms = [state.delayed_until_ms - now_ms for state in self._states.values()]
        pause_ms = min((wait if wait > 0 else _THROTTLE_PAUSE_MS for wait in waits_ms), default=1)
        self._idle = Deferred()
        self._timer = self._time.call_later_ms(pause_ms, self._wake)
        await self._idle

    def _wake(self) -> None:
        if self._idle is not None:
            idle, self._idle = self._idle, None
            if self._timer is not None and self._timer.active():
                self._timer.cancel()
            idle.callback(None)

    def _delay(self, partitions: Iterable[TopicPartition]) -> None:
        until_ms = self._time.now_ms() + self._settings().backoff_ms
        for tp in partitions:
            if tp in self._states:
                self._states[tp] = self._states[tp].delayed(until_ms)

    # --- fetch and answer

    async def _fetch(self, wanted: Mapping[TopicPartition, FetchPartition]) -> None:
        settings = self._settings()
        request = FetchRequest(
            replica_id=settings.replica_id,
            max_wait_ms=settings.wait_max_ms,
            min_bytes=settings.min_bytes,
            max_bytes=settings.response_max_bytes,
            isolation_level=0,
        )
        self._session.fill(request, wanted)
        response = await self._send(request, settings.fetch_version)
        if not isinstance(response, FetchResponse):
            self._delay(wanted)
            return
        if not self._session.answered(response):
            log.info(
                "fetch session with broker {leader} is over ({code}): begins anew",
                leader=self.leader_id,
                code=ErrorCode(response.error_code).name,
            )
            return
        for topic in response.responses:
            for answer in topic.partition_responses:
                tp = TopicPartition(topic.topic, answer.partition)
                state, asked = self._states.get(tp), wanted.get(tp)
                # The partition may have got another epoch, or been truncated, in between.
                if (
                    state is not None
                    and asked is not None
                    and state.fetch_offset == asked.fetch_offset
                    and state.current_leader_epoch == asked.current_leader_epoch
                ):
                    await self._process(tp, state, answer)

    async def _send(self, request: Message, version: int) -> Message | None:
        """Send and give the answer; None after a failure, which begins session and channel anew."""
        try:
            if self._channel is None:
                self._channel = self._connect()
            return await self._channel.send(request, version)
        except CancelledError:
            raise
        except _NETWORK_ERRORS as error:
            log.warn("fetch from broker {leader}: {error}", leader=self.leader_id, error=error)
        self._session.reset()
        self._disconnect()
        return None

    def _disconnect(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    async def _process(
        self, tp: TopicPartition, state: PartitionFetchState, answer: FetchablePartitionResponse
    ) -> None:
        code = answer.error_code
        if code == ErrorCode.NONE:
            self._take(tp, state, answer)
        elif code == ErrorCode.OFFSET_OUT_OF_RANGE:
            await self._handle_out_of_range(tp, state)
        elif code == ErrorCode.FENCED_LEADER_EPOCH:
            # The leader knows a newer epoch: the controller is about to tell us.
            log.info("{tp}: epoch {epoch} is over", tp=tp, epoch=state.current_leader_epoch)
            self._states.pop(tp, None)
        else:
            log.debug("{tp}: leader answers {code}", tp=tp, code=ErrorCode(code).name)
            self._delay([tp])

    def _take(
        self, tp: TopicPartition, state: PartitionFetchState, answer: FetchablePartitionResponse
    ) -> None:
        """Append what came, or cut what diverges; what the log refuses is not fetched again."""
        now_ms = self._time.now_ms()
        self._quota.record({tp: len(answer.record_set or b"")}, now_ms)
        try:
            self._states[tp] = take_answer(self._logs, tp, state, answer, now_ms)
        except (CorruptRecordError, InvalidRecordError) as error:
            log.error("{tp} at {offset}: {e}", tp=tp, offset=state.fetch_offset, e=error)
            self._delay([tp])
        except KafkaError as error:
            log.error("{tp}: replication stops: {error}", tp=tp, error=error)
            self._states.pop(tp, None)

    def _truncate_to_high_watermarks(self) -> None:
        for tp, state in list(self._states.items()):
            if state.state is ReplicaState.TRUNCATING:
                try:
                    self._states[tp] = truncate(self._logs, tp, state, state.fetch_offset)
                except KafkaError as error:
                    log.error("{tp}: replication stops: {error}", tp=tp, error=error)
                    self._states.pop(tp, None)

    async def _handle_out_of_range(self, tp: TopicPartition, state: PartitionFetchState) -> None:
        settings = self._settings()
        offsets = await fetch_leader_offsets(
            self._send,
            tp,
            state.current_leader_epoch,
            settings.replica_id,
            settings.list_offsets_version,
        )
        local_log = self._logs.get_log(tp)
        if self._states.get(tp) != state or local_log is None:
            return
        if offsets is None:
            self._delay([tp])
            return
        found = resolve_out_of_range(local_log, offsets.start, offsets.end)
        log.warn(
            "{tp}: {offset} is out of the leader's range {start} to {end}; going on at {next}",
            tp=tp,
            offset=state.fetch_offset,
            start=offsets.start,
            end=offsets.end,
            next=found.fetch_offset,
        )
        if found.truncate_to is not None:
            self._logs.truncate_to(tp, found.truncate_to)
        if found.start_over_at is not None:
            self._logs.truncate_fully_and_start_at(tp, found.start_over_at)
        self._states[tp] = after_truncation(local_log, state, found.fetch_offset)
