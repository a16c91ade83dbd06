"""A group coordinator on a clock, over logs in memory, and members that talk to it.

world = GroupWorld()
first = world.stable_group("g", members=2)      # two members that share an assignment
world.advance_ms(10_000)                        # nobody sent a heartbeat
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.topic_config import TopicConfig
from kafkalike.coordinator.group.group_coordinator import GroupCoordinator
from kafkalike.coordinator.group.group_metadata import GroupMetadata
from kafkalike.coordinator.group.group_offsets import OffsetAndMetadata
from kafkalike.coordinator.group.joining import JoinGroup
from kafkalike.coordinator.group.offset_commits import CommitOffsets
from kafkalike.coordinator.group.results import JoinGroupResult, SyncGroupResult
from kafkalike.coordinator.group.syncing import SyncGroup
from kafkalike.log.append_origin import AppendOrigin
from kafkalike.log.fetch_data_info import FetchDataInfo, FetchIsolation
from kafkalike.log.log_offset_metadata import LogOffsetMetadata
from kafkalike.model.topic import GROUP_METADATA_TOPIC
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.consumer_protocol import encode_subscription
from kafkalike.protocol.errors import ErrorCode, KafkaError
from kafkalike.protocol.records.record import Record
from kafkalike.protocol.records.record_batch import (
    BatchHeader,
    iter_batches,
    set_base_offset_and_epoch,
)
from kafkalike.protocol.records.record_reader import iter_records
from kafkalike.replication.delayed_produce import ProduceStatus
from kafkalike.utils.time import Time
from tests.support.log_builder import run_at_once
from tests.support.run import result_of, run, start

PROPERTIES = {"broker.id": "1", "zookeeper.connect": "zk:2181", "listeners": "PLAINTEXT://:9092"}
START_S = 1_700_000_000
MOMENT_MS = 1000  # whole seconds: a clock of floats has no exact milliseconds
DELAY_MS = 3000
SESSION_MS = 10_000
REBALANCE_MS = 60_000
SUBSCRIPTION = encode_subscription(["orders"])
PROTOCOLS = (("range", SUBSCRIPTION), ("roundrobin", SUBSCRIPTION))
ORDERS = TopicPartition("orders", 0)


class MemoryLog:
    """As much of a log as the coordinator reads."""

    def __init__(self, **config: str) -> None:
        self.config = TopicConfig(**config)
        self.log_start_offset = 0
        self.log_end_offset = 0
        self.data = b""

    def append(self, batch: bytes) -> int:
        """Append one batch; return its base offset."""
        ((_, header),) = iter_batches(batch)
        base_offset = self.log_end_offset
        placed = bytearray(batch)
        set_base_offset_and_epoch(placed, 0, base_offset, 0)
        self.data += placed
        self.log_end_offset += header.last_offset_delta + 1
        return base_offset

    def read(
        self, offset: int, max_length: int, isolation: FetchIsolation, *, min_one_message: bool
    ) -> FetchDataInfo:
        assert isolation is FetchIsolation.LOG_END
        assert min_one_message
        found = b""
        for position, header in iter_batches(self.data):
            end = position + header.size_in_bytes
            if header.next_offset > offset and (not found or len(found) < max_length):
                found += self.data[position:end]
        return FetchDataInfo(LogOffsetMetadata(offset), found)

    def batches(self) -> list[tuple[BatchHeader, list[Record]]]:
        return [
            (header, list(iter_records(self.data, position, header)))
            for position, header in iter_batches(self.data)
        ]

    def records(self) -> list[Record]:
        return [record for _, records in self.batches() for record in records]


class FakeReplicas:
    """Appends at once; or not before `release` while `is_holding`; or fails with `error`."""

    def __init__(self, partition_count: int) -> None:
        self.logs: dict[TopicPartition, MemoryLog] = {
            TopicPartition(GROUP_METADATA_TOPIC, partition): MemoryLog()
            for partition in range(partition_count)
        }
        self.error: KafkaError | None = None
        self.is_holding = False
        self.asked: list[tuple[int, int, AppendOrigin]] = []
        self.uuids = itertools.count(1)  # here, for they are never given out twice
        self._held: list[Deferred[None]] = []

    def get_log(self, tp: TopicPartition) -> Any:
        return self.logs.get(tp)

    async def append_records(
        self,
        entries: Iterable[tuple[TopicPartition, memoryview]],
        required_acks: int,
        timeout_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> list[ProduceStatus]:
        self.asked.append((required_acks, timeout_ms, origin))
        ((tp, batch),) = entries
        error = self.error
        info: Any = None
        if error is None:
            info = SimpleNamespace(first_offset=self.logs[tp].append(bytes(batch)))
        if self.is_holding and required_acks != 0:
            waiting: Deferred[None] = Deferred()
            self._held.append(waiting)
            await waiting
            error = self.error
        return [ProduceStatus(tp, None if error else info, error)]

    def release(self, error: KafkaError | None = None) -> None:
        """Let all appends that wait come to their end."""
        self.is_holding = False
        self.error = error
        held, self._held = self._held, []
        for waiting in held:
            waiting.callback(None)
        self.error = None


class GroupWorld:
    """One broker that coordinates all groups."""

    def __init__(
        self,
        properties: Mapping[str, str] | None = None,
        *,
        partition_count: int = 4,
        replicas: FakeReplicas | None = None,
        is_elected: bool = True,
    ) -> None:
        self.clock = Clock()
        self.clock.advance(START_S)
        self.replicas = replicas or FakeReplicas(partition_count)
        self.coordinator = GroupCoordinator(
            BrokerConfig.from_properties({**PROPERTIES, **(properties or {})}),
            self.replicas,
            Time(self.clock),
            run_at_once,
            lambda: str(next(self.replicas.uuids)),
            partition_count=partition_count,
        )
        if is_elected:
            for partition in range(partition_count):
                self.coordinator.on_election(partition, 0)
            self.advance_ms(0)

    @property
    def now_ms(self) -> int:
        return int(self.clock.seconds() * 1000)

    def advance_ms(self, ms: int) -> None:
        """Let time pass second by second; what follows from a timer happens in the same second."""
        for _ in range(ms // MOMENT_MS):
            self.clock.advance(MOMENT_MS / 1000)
            self.clock.pump([0] * 4)
        self.clock.pump([0] * 4)

    def group(self, group_id: str = "g") -> GroupMetadata:
        found = self.coordinator.store.get(group_id)
        assert found is not None
        return found

    def state(self, group_id: str = "g") -> str:
        return self.coordinator.describe_group(group_id)[1].state

    def log_of(self, group_id: str = "g") -> MemoryLog:
        partition = self.coordinator.partition_for(group_id)
        return self.replicas.logs[TopicPartition(GROUP_METADATA_TOPIC, partition)]

    # --- what members ask

    def join(
        self,
        member_id: str = "",
        group_id: str = "g",
        *,
        instance: str | None = None,
        protocols: Sequence[tuple[str, bytes]] = PROTOCOLS,
        protocol_type: str = "consumer",
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        requires_id: bool = False,
        client_id: str = "client",
    ) -> "Deferred[JoinGroupResult]":
        """Send a join; take the answer with `result_of`."""
        request = JoinGroup(
            group_id=group_id,
            member_id=member_id,
            group_instance_id=instance,
            requires_known_member_id=requires_id,
            client_id=client_id,
            client_host="/127.0.0.1",
            rebalance_timeout_ms=rebalance_ms,
            session_timeout_ms=session_ms,
            protocol_type=protocol_type,
            protocols=tuple(protocols),
        )
        joining = start(self.coordinator.join_group(request))
        self.advance_ms(0)
        return joining

    def sync(
        self,
        member_id: str,
        generation: int,
        assignment: Mapping[str, bytes] | None = None,
        group_id: str = "g",
        **fields: Any,
    ) -> "Deferred[SyncGroupResult]":
        """Send a sync; take the answer with `result_of`."""
        request = SyncGroup(
            group_id=group_id,
            generation_id=generation,
            member_id=member_id,
            assignment=assignment or {},
            **fields,
        )
        syncing = start(self.coordinator.sync_group(request))
        self.advance_ms(0)
        return syncing

    def heartbeat(
        self, member_id: str, generation: int, group_id: str = "g", instance: str | None = None
    ) -> ErrorCode:
        return self.coordinator.heartbeat(group_id, member_id, generation, instance)

    def leave(self, member_id: str, group_id: str = "g", instance: str | None = None) -> ErrorCode:
        code, codes = self.coordinator.leave_group(group_id, [(member_id, instance)])
        self.advance_ms(0)
        return codes[0] if code is ErrorCode.NONE else code

    def begin_commit(
        self,
        offset: int = 7,
        member_id: str = "",
        generation: int = -1,
        group_id: str = "g",
        *,
        tp: TopicPartition = ORDERS,
        metadata: str = "",
        expire_timestamp: int | None = None,
        **fields: Any,
    ) -> "Deferred[Mapping[TopicPartition, ErrorCode]]":
        value = OffsetAndMetadata(
            offset=offset,
            metadata=metadata,
            commit_timestamp=self.now_ms,
            expire_timestamp=expire_timestamp,
        )
        request = CommitOffsets(
            group_id=group_id,
            member_id=member_id,
            generation_id=generation,
            offsets={tp: value},
            **fields,
        )
        return start(self.coordinator.commit_offsets(request))

    def commit(self, *args: Any, **fields: Any) -> ErrorCode:
        """Commit one offset and return its error code."""
        (code,) = result_of(self.begin_commit(*args, **fields)).values()
        return code

    def committed(
        self, group_id: str = "g", tp: TopicPartition = ORDERS, *, require_stable: bool = False
    ) -> int | ErrorCode | None:
        """Ask for one committed offset."""
        code, found = self.coordinator.fetch_offsets(group_id, [tp], require_stable=require_stable)
        if code is not ErrorCode.NONE:
            return code
        one = found[tp]
        return one.offset if isinstance(one, OffsetAndMetadata) else one

    def expire(self) -> None:
        """Run the periodic check."""
        run(self.coordinator.remove_expired_offsets())

    # --- groups

    def joined(self, *joining: "Deferred[JoinGroupResult]") -> list[JoinGroupResult]:
        """Let the initial delay pass and return what the joins were answered."""
        self.advance_ms(DELAY_MS if len(joining) == 1 else 2 * DELAY_MS)
        return [result_of(one) for one in joining]

    def stable_group(
        self, group_id: str = "g", members: int = 1, **fields: Any
    ) -> list[JoinGroupResult]:
        """Make a group with so many dynamic members, each with an assignment of its own."""
        joining = [self.join(group_id=group_id, **fields) for _ in range(members)]
        answers = self.joined(*joining)
        self.settle(answers, group_id)
        return answers

    def settle(self, answers: Sequence[JoinGroupResult], group_id: str = "g") -> None:
        """Let all members sync, each with its id as assignment."""
        leader = next(answer for answer in answers if answer.members)
        assignment = {one.member_id: one.member_id.encode() for one in leader.members}
        syncing = [
            self.sync(
                answer.member_id,
                answer.generation_id,
                assignment if answer is leader else None,
                group_id,
            )
            for answer in answers
        ]
        self.advance_ms(0)
        for answer, sync in zip(answers, syncing, strict=True):
            assert result_of(sync).assignment == answer.member_id.encode()


def error_of(deferred: "Deferred[JoinGroupResult] | Deferred[SyncGroupResult]") -> ErrorCode:
    """Return the error code of an answer."""
    return result_of(deferred).error_code
