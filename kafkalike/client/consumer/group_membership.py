"""Being a member of a group: join, sync, heartbeat, leave (Kafka's `AbstractCoordinator`).

Joining runs in the background until it succeeds or cannot; what comes of it (`joined`, `error`) is
taken by the consumer when it polls, for only then may partitions change hands.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from twisted.logger import Logger

from kafkalike.client.consumer.assignors.assignor import Assignor, MemberSubscription
from kafkalike.client.consumer.consumer_config import ConsumerConfig
from kafkalike.client.consumer.coordinator_link import CoordinatorLink
from kafkalike.client.kafka_client import KafkaClient
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.consumer_protocol import (
    PROTOCOL_TYPE,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from kafkalike.protocol.errors import (
    ErrorCode,
    IllegalGenerationError,
    KafkaError,
    MemberIdRequiredError,
    RebalanceInProgressError,
    UnknownMemberIdError,
    error_for,
)
from kafkalike.protocol.messages.heartbeat import HeartbeatRequest
from kafkalike.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from kafkalike.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkalike.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from kafkalike.utils.time import Timer

log = Logger()

_JOIN_LAG_MS: Final = 5_000
"""How much longer than the rebalance may take its answer is waited for (as Kafka does)."""

NO_GENERATION: Final = -1


class Joined(NamedTuple):
    """What a completed rebalance gave this member."""

    generation: int
    assignor: Assignor
    partitions: Sequence[TopicPartition]
    is_leader: bool


class GroupMembership:
    """One member; `owned` tells what it has now, `topics` what it subscribes to."""

    def __init__(
        self,
        client: KafkaClient,
        config: ConsumerConfig,
        assignors: Sequence[Assignor],
        owned: Callable[[], Sequence[TopicPartition]],
        topics: Callable[[], frozenset[str]],
        wake: Callable[[], None],
    ) -> None:
        self.group_id = config.group_id or ""
        self.member_id = ""
        self.generation = NO_GENERATION
        self.needs_join = True
        self.has_lost_all = False
        self.joined: Joined | None = None
        self.error: KafkaError | None = None
        self.is_joining = False
        self.last_poll_ms = 0
        self.link = CoordinatorLink(client, self.group_id)
        self.partition_counts: Mapping[str, int] = {}
        self._client = client
        self._config = config
        self._assignors = assignors
        self._owned = owned
        self._topics = topics
        self._wake = wake
        self._timer: Timer | None = None
        self._is_beating = False
        self._is_closed = False

    @property
    def is_member(self) -> bool:
        """Whether the coordinator knows this member in the current generation."""
        return self.generation != NO_GENERATION

    def start_joining(self) -> None:
        """Join in the background; `wake` is called when there is an outcome."""
        if not self.is_joining and not self._is_closed:
            self.is_joining = True
            self.needs_join = False
            self._stop_heartbeat()
            self._client.background.start(self._join_until_done(), "joining the group")

    def request_rejoin(self, why: str) -> None:
        """Join again at the next poll."""
        if not self.needs_join:
            log.debug("group {group}: rejoining, {why}", group=self.group_id, why=why)
            self.needs_join = True
            self._wake()

    async def leave(self) -> None:
        """Tell the coordinator that this member goes, unless it is a static one."""
        member_id = self.member_id
        self._forget_generation(is_lost=False)
        self.needs_join = True
        if not member_id or self._config.group_instance_id is not None:
            return
        identity = MemberIdentity(member_id=member_id)
        request = LeaveGroupRequest(group_id=self.group_id, member_id=member_id, members=[identity])
        try:
            await self.link.send(request, timeout_ms=self._config.request_timeout_ms)
        except KafkaError as error:
            log.debug("group {group}: leaving failed: {error}", group=self.group_id, error=error)

    def close(self) -> None:
        """Heartbeat and join no more."""
        self._is_closed = True
        self._stop_heartbeat()

    def lost_generation(self) -> None:
        """Take note that the group went on without this member: what it had is not its any more."""
        self._forget_generation(is_lost=True)
        self.request_rejoin("the coordinator does not know this member any more")

    async def _join_until_done(self) -> None:
        try:
            while not self._is_closed:
                try:
                    self.joined = await self._join_once()
                    break
                except (MemberIdRequiredError, RebalanceInProgressError):
                    continue
                except (UnknownMemberIdError, IllegalGenerationError):
                    self._forget_generation(is_lost=True)
                except KafkaError as error:
                    if not error.retriable:
                        self.error = error
                        self.needs_join = True
                        break
                    self.link.note(error)
                    await self._client.time.sleep_ms(self._config.retry_backoff_ms)
        finally:
            self.is_joining = False
        self._wake()

    async def _join_once(self) -> Joined:
        answer = await self._join()
        self.member_id = answer.member_id
        self.generation = answer.generation_id
        (assignor,) = [a for a in self._assignors if a.name == answer.protocol_name]
        is_leader = answer.leader == answer.member_id
        assignments = await self._assign(assignor, answer) if is_leader else {}
        self._start_heartbeat()
        partitions = await self._sync(assignor, assignments)
        return Joined(answer.generation_id, assignor, partitions, is_leader)

    async def _join(self) -> JoinGroupResponse:
        config = self._config
        topics, owned = sorted(self._topics()), self._owned()
        request = JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=config.session_timeout_ms,
            rebalance_timeout_ms=config.max_poll_interval_ms,
            member_id=self.member_id,
            group_instance_id=config.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[
                JoinGroupRequestProtocol(
                    name=assignor.name,
                    metadata=encode_subscription(
                        topics, user_data=assignor.user_data(), owned_partitions=owned
                    ),
                )
                for assignor in self._assignors
            ],
        )
        patience_ms = max(config.request_timeout_ms, config.max_poll_interval_ms + _JOIN_LAG_MS)
        answer: JoinGroupResponse = await self.link.send(request, timeout_ms=patience_ms)
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
        self._check(answer.error_code, "joining")
        return answer

    async def _assign(
        self, assignor: Assignor, answer: JoinGroupResponse
    ) -> dict[str, list[TopicPartition]]:
        members: dict[str, MemberSubscription] = {}
        for member in answer.members:
            told = decode_subscription(bytes(member.metadata))
            owned = [
                TopicPartition(t.topic, partition)
                for t in told.owned_partitions
                for partition in t.partitions
            ]
            members[member.member_id] = MemberSubscription(
                told.topics, owned, told.user_data, member.group_instance_id
            )
        wanted = {topic for member in members.values() for topic in member.topics}
        metadata = self._client.metadata
        if metadata.add_topics(wanted) or not wanted <= metadata.snapshot.topics.keys():
            await metadata.refresh()
        self.partition_counts = self.counts_of(wanted)
        return assignor.assign(self.partition_counts, members)

    def counts_of(self, topics: set[str] | frozenset[str]) -> dict[str, int]:
        """Return how many partitions each of the topics that exist has."""
        known = self._client.metadata.snapshot.topics
        return {
            topic: len(known[topic].partitions)
            for topic in topics
            if topic in known and known[topic].partitions
        }

    async def _sync(
        self, assignor: Assignor, assignments: Mapping[str, Sequence[TopicPartition]]
    ) -> list[TopicPartition]:
        request = SyncGroupRequest(
            group_id=self.group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self._config.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=assignor.name,
            assignments=[
                SyncGroupRequestAssignment(
                    member_id=member_id, assignment=encode_assignment(partitions)
                )
                for member_id, partitions in assignments.items()
            ],
        )
        patience_ms = max(
            self._config.request_timeout_ms, self._config.max_poll_interval_ms + _JOIN_LAG_MS
        )
        answer = await self.link.send(request, timeout_ms=patience_ms)
        self._check(answer.error_code, "syncing")
        if not answer.assignment:
            return []
        told = decode_assignment(bytes(answer.assignment))
        return [TopicPartition(t.topic, p) for t in told.assigned_partitions for p in t.partitions]

    def _check(self, code: int, doing: str) -> None:
        if code != ErrorCode.NONE:
            error = error_for(code)
            raise self.link.note(error(f"{doing} group {self.group_id}: {error()}"))

    def _forget_generation(self, *, is_lost: bool) -> None:
        self._stop_heartbeat()
        self.has_lost_all = is_lost and bool(self._owned())
        self.generation = NO_GENERATION
        self.member_id = ""
        self.joined = None

    def _start_heartbeat(self) -> None:
        self._stop_heartbeat()
        if not self._is_closed:
            self._timer = self._client.time.call_later_ms(
                self._config.heartbeat_interval_ms, self._beat_in_background
            )

    def _stop_heartbeat(self) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None

    def _beat_in_background(self) -> None:
        if not self._is_beating:
            self._client.background.start(self._beat(), "heartbeat")

    async def _beat(self) -> None:
        if self._client.time.now_ms() - self.last_poll_ms > self._config.max_poll_interval_ms:
            log.warn(
                "group {group}: no poll for {ms} ms (max_poll_interval_ms): leaving the group, so "
                "that others read its partitions; poll more often or fetch fewer records",
                group=self.group_id,
                ms=self._config.max_poll_interval_ms,
            )
            await self.leave()
            self.has_lost_all = bool(self._owned())
            return
        generation = self.generation
        self._is_beating = True
        try:
            await self._send_heartbeat()
        finally:
            self._is_beating = False
        if generation == self.generation and self.is_member and not self._is_closed:
            self._start_heartbeat()

    async def _send_heartbeat(self) -> None:
        generation = self.generation
        request = HeartbeatRequest(
            group_id=self.group_id,
            generation_id=generation,
            member_id=self.member_id,
            group_instance_id=self._config.group_instance_id,
        )
        try:
            answer = await self.link.send(request, timeout_ms=self._config.session_timeout_ms)
            self._check(answer.error_code, "heartbeat of")
        except RebalanceInProgressError:
            if generation == self.generation and not self.is_joining:
                self.request_rejoin("the group is rebalancing")
        except (UnknownMemberIdError, IllegalGenerationError):
            if generation == self.generation and not self.is_joining:
                self.lost_generation()
        except KafkaError as error:
            if not error.retriable:
                self.error = error
                self.lost_generation()
