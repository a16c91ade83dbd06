"""The replicas of this broker: appends, reads, and what waits for them (Kafka's ReplicaManager).

What the controller changes about them (LeaderAndIsr, StopReplica) is in `replica_state_changes`.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from kafkalike.cluster.metadata_cache import MetadataCache
from kafkalike.cluster.partition import ACKS_ALL, Partition, ReadResult
from kafkalike.cluster.replica_selector import Selector
from kafkalike.log.append_origin import AppendOrigin
from kafkalike.log.fetch_data_info import FetchDataInfo
from kafkalike.log.log import Log
from kafkalike.log.log_offset_metadata import LogOffsetMetadata
from kafkalike.model.leader_and_isr import LeaderAndIsr
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    ErrorCode,
    InvalidRequiredAcksError,
    KafkaError,
    KafkaStorageError,
    NotLeaderOrFollowerError,
    UnknownServerError,
    UnknownTopicOrPartitionError,
)
from kafkalike.protocol.messages.fetch import FetchPartition
from kafkalike.quota.replication_quota import ReplicationQuota
from kafkalike.replication.append_flush import AppendFlush
from kafkalike.replication.delayed_delete_records import DelayedDeleteRecords, DeleteRecordsStatus
from kafkalike.replication.delayed_fetch import DelayedFetch
from kafkalike.replication.delayed_produce import DelayedProduce, ProduceStatus
from kafkalike.replication.fetch_params import (
    NO_REPLICA,
    FetchParams,
    PartitionRead,
    must_answer,
)
from kafkalike.replication.former_leaderships import FormerLeaderships
from kafkalike.utils.delayed_operation import DelayedOperationPurgatory
from kafkalike.utils.time import Time

log = Logger()

_LEGAL_ACKS: Final = (-1, 0, 1)


def _nobody_to_ask(tp: TopicPartition, wanted: LeaderAndIsr) -> None:
    """Change no ISR."""


class ReplicaManager:
    """Owns the partitions; `partitions` has those whose log directory works."""

    def __init__(
        self,
        broker_id: int,
        time: Time,
        metadata_cache: MetadataCache,
        flush: Callable[[Log], Awaitable[None]],
        submit_isr: Callable[[TopicPartition, LeaderAndIsr], None] = _nobody_to_ask,
        select_replica: Selector | None = None,
        leader_quota: ReplicationQuota | None = None,
        *,
        flushes_last_replica: bool = True,
    ) -> None:
        self.broker_id = broker_id
        self.partitions: dict[TopicPartition, Partition] = {}
        self.offline_partitions: set[TopicPartition] = set()
        self.former_leaderships = FormerLeaderships()
        self._time = time
        self._metadata_cache = metadata_cache
        self.append_flush = AppendFlush(flush, flushes_last_replica=flushes_last_replica)
        self._submit_isr = submit_isr
        self._select_replica = select_replica
        self._leader_quota = leader_quota or ReplicationQuota(1, 1, lambda: float("inf"))
        self._produce_purgatory = DelayedOperationPurgatory(time)
        self._fetch_purgatory = DelayedOperationPurgatory(time)
        self._delete_records_purgatory = DelayedOperationPurgatory(time)

    # --- partitions

    def partition_or_error(self, tp: TopicPartition) -> Partition:
        """Return a partition of this broker, or raise why it is not here."""
        partition = self.partitions.get(tp)
        if partition is not None:
            return partition
        if tp in self.offline_partitions:
            raise KafkaStorageError(f"Partition {tp} is in an offline log directory")
        if self._metadata_cache.snapshot.partition(tp) is not None:
            # The topic exists, so the replica was moved elsewhere: metadata will tell the client.
            raise NotLeaderOrFollowerError(f"This broker has no replica of {tp}")
        raise UnknownTopicOrPartitionError(f"Partition {tp} does not exist")

    def get_log(self, tp: TopicPartition) -> Log | None:
        """Return the log of a partition if it is here and its directory works."""
        partition = self.partitions.get(tp)
        return partition.log if partition is not None else None

    def remove(self, tp: TopicPartition) -> Partition | None:
        """Take a partition out, and return it if it was here."""
        partition = self.partitions.pop(tp, None)
        if partition is not None and partition.is_leader:
            self.leadership_lost(tp)
        return partition

    def leadership_lost(self, tp: TopicPartition) -> None:
        """Remember that this broker led a partition until now."""
        self.former_leaderships.lost(tp, self._time.now_ms())

    def mark_offline(self, tp: TopicPartition) -> None:
        """Take a partition out of service because its log directory failed."""
        self.remove(tp)
        self.offline_partitions.add(tp)
        self.complete_delayed(tp)

    def complete_delayed(self, tp: TopicPartition) -> None:
        """Let everything that waits for a partition look again."""
        self._produce_purgatory.check_and_complete(tp)
        self._fetch_purgatory.check_and_complete(tp)
        self._delete_records_purgatory.check_and_complete(tp)

    def shutdown(self) -> None:
        """Answer all that waits."""
        for purgatory in (
            self._produce_purgatory,
            self._fetch_purgatory,
            self._delete_records_purgatory,
        ):
            purgatory.shutdown()

    # --- append

    async def append_records(
        self,
        entries: Iterable[tuple[TopicPartition, memoryview]],
        required_acks: int,
        timeout_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> list[ProduceStatus]:
        """Append to the partitions that this broker leads; with acks=all wait for the ISR."""
        if required_acks not in _LEGAL_ACKS:
            wrong = InvalidRequiredAcksError(f"required acks {required_acks} is none of -1, 0, 1")
            return [ProduceStatus(tp, None, wrong) for tp, _ in entries]
        now_ms = self._time.now_ms()
        statuses = [
            self._append(tp, records, required_acks, now_ms, origin) for tp, records in entries
        ]
        await self._flush(statuses, required_acks)
        if required_acks == ACKS_ALL:
            await self._wait_for_isr(statuses, timeout_ms)
            # While they waited, this may have become the last replica.
            await self._flush(statuses, required_acks)
        return statuses

    def _append(
        self,
        tp: TopicPartition,
        records: memoryview,
        required_acks: int,
        now_ms: int,
        origin: AppendOrigin,
    ) -> ProduceStatus:
        try:
            partition = self.partitions.get(tp) or self.partition_or_error(tp)
            info, high_watermark_moved = partition.append_as_leader(
                records, required_acks, now_ms, origin
            )
        except KafkaError as error:
            return ProduceStatus(tp, None, error)
        except Exception:  # noqa: BLE001 (the other partitions of the request go on)
            log.failure("append to {tp} failed", tp=tp)
            return ProduceStatus(tp, None, UnknownServerError())
        if high_watermark_moved:
            self.complete_delayed(tp)
        else:
            self._fetch_purgatory.check_and_complete(tp)
        return ProduceStatus(tp, info, None)

    async def _flush(self, statuses: Iterable[ProduceStatus], required_acks: int) -> None:
        """Bring to the disk what must be there before it is acknowledged."""
        for status in statuses:
            if status.error is not None or status.info is None:
                continue
            partition = self.partitions.get(status.tp)
            if partition and self.append_flush.is_due(partition, status.info, required_acks):
                status.error = await self.append_flush.run(partition)

    async def _wait_for_isr(self, statuses: list[ProduceStatus], timeout_ms: int) -> None:
        for status in statuses:
            if status.error is None:
                status.look(self.partition_or_error)
        keys = [status.tp for status in statuses if status.is_pending]
        if keys:
            waiting: Deferred[None] = Deferred()
            operation = DelayedProduce(
                statuses, self.partition_or_error, lambda: waiting.callback(None)
            )
            self._produce_purgatory.watch(operation, keys, timeout_ms)
            await waiting

    # --- fetch

    async def fetch_messages(
        self, params: FetchParams, requested: Sequence[tuple[TopicPartition, FetchPartition]]
    ) -> list[PartitionRead]:
        """Read from partitions, waiting for `min_bytes` for as long as the client allows."""
        reads = self.read_messages(params, requested)
        if params.is_from_follower:
            self._update_follower(params.replica_id, reads)
        if params.max_wait_ms <= 0 or not reads or must_answer(params, reads):
            return reads
        waiting: Deferred[None] = Deferred()
        self.when_readable(params, reads, lambda: waiting.callback(None))
        await waiting
        return self.read_messages(params, requested)

    def when_readable(
        self, params: FetchParams, reads: Sequence[PartitionRead], then: Callable[[], None]
    ) -> DelayedFetch:
        """Call back when there is enough to read, or when `max_wait_ms` are over."""
        operation = DelayedFetch(
            params,
            reads,
            self.partition_or_error,
            then,
            lambda partition: self._is_held_up(partition, params),
        )
        keys = [read.tp for read in reads]
        self._fetch_purgatory.try_complete_else_watch(operation, keys, params.max_wait_ms)
        return operation

    def read_messages(
        self, params: FetchParams, requested: Sequence[tuple[TopicPartition, FetchPartition]]
    ) -> list[PartitionRead]:
        """Read what is there now."""
        limit_bytes = params.max_bytes
        min_one_message = not params.is_hard_limit
        reads = []
        for tp, request in requested:
            read = self._read_partition(
                params, tp, request, limit_bytes, min_one_message=min_one_message
            )
            if size := read.size:
                # Once there is something to send, limits hold.
                min_one_message = False
                limit_bytes = max(0, limit_bytes - size)
            reads.append(read)
        return reads

    def _read_partition(
        self,
        params: FetchParams,
        tp: TopicPartition,
        request: FetchPartition,
        limit_bytes: int,
        *,
        min_one_message: bool,
    ) -> PartitionRead:
        try:
            partition = self.partitions.get(tp) or self.partition_or_error(tp)
            if params.client_rack is not None:
                preferred = self._preferred_replica(partition, params.client_rack, request)
                if preferred != NO_REPLICA:
                    return _elsewhere(partition, request, preferred)
            result = partition.read(
                request.fetch_offset,
                min(request.partition_max_bytes, limit_bytes),
                params.isolation,
                request.current_leader_epoch,
                request.last_fetched_epoch,
                only_from_leader=params.only_from_leader,
                min_one_message=min_one_message,
            )
        except KafkaError as error:
            return PartitionRead(tp, request, None, error)
        except Exception:  # noqa: BLE001 (the other partitions of the request go on)
            log.failure("fetch from {tp} failed", tp=tp)
            return PartitionRead(tp, request, None, UnknownServerError())
        if (result.data.first_entry_incomplete and not params.is_hard_limit) or self._is_held_up(
            partition, params
        ):
            # Half a batch is of no use to a client that is promised whole ones.
            result = result._replace(data=FetchDataInfo(result.data.fetch_offset_metadata, b""))
        return PartitionRead(tp, request, result)

    def _is_held_up(self, partition: Partition, params: FetchParams) -> bool:
        """Whether a follower that is not in sync gets nothing now, for there is a throttle."""
        if not self._leader_quota.is_in_use or not params.is_from_follower:
            return False
        is_in_sync = params.replica_id in partition.isr
        return not is_in_sync and self._leader_quota.must_wait(partition.tp, self._time.now_ms())

    def _preferred_replica(self, partition: Partition, rack: str, request: FetchPartition) -> int:
        """Return a better replica for the client to read from, if this one is the leader."""
        if self._select_replica is None or not partition.is_leader:
            return NO_REPLICA
        brokers = self._metadata_cache.snapshot.brokers

        def rack_of(broker_id: int) -> str | None:
            return brokers[broker_id].rack if broker_id in brokers else None

        leader, replicas = partition.replicas_with(
            request.fetch_offset, self._time.now_ms(), rack_of
        )
        selected = self._select_replica(rack, leader, replicas)
        return NO_REPLICA if selected == leader else selected.broker_id

    def _update_follower(self, replica_id: int, reads: Sequence[PartitionRead]) -> None:
        now_ms = self._time.now_ms()
        if self._leader_quota.is_in_use:
            self._leader_quota.record({read.tp: read.size for read in reads}, now_ms)
        for read in reads:
            partition = self.partitions.get(read.tp)
            if partition is None or read.result is None or read.result.diverging_epoch is not None:
                continue
            request = read.request
            if partition.update_follower_fetch_state(
                replica_id, request.fetch_offset, request.log_start_offset, now_ms
            ):
                self.complete_delayed(read.tp)
            else:  # the follower may have deleted what it was to delete
                self._delete_records_purgatory.check_and_complete(read.tp)
            wanted = partition.maybe_expand_isr(replica_id)
            if wanted is not None:
                self._submit_isr(read.tp, wanted)

    # --- in-sync replicas

    def maybe_shrink_isrs(self) -> None:
        """Ask to leave out the followers that have fallen behind."""
        now_ms = self._time.now_ms()
        for tp, partition in self.partitions.items():
            wanted = partition.maybe_shrink_isr(now_ms)
            if wanted is not None:
                self._submit_isr(tp, wanted)

    def isr_altered(self, tp: TopicPartition, answer: LeaderAndIsr) -> None:
        """Take over an ISR that the controller has written."""
        partition = self.partitions.get(tp)
        if partition is None:
            return
        if partition.isr_altered(answer, self._time.now_ms()):
            self.complete_delayed(tp)
        self.append_flush.isr_changed(partition)

    # --- delete records

    async def delete_records(
        self, offsets: Mapping[TopicPartition, int], timeout_ms: int
    ) -> dict[TopicPartition, tuple[int, ErrorCode]]:
        """Raise log start offsets and wait until all live replicas have; return low watermarks."""
        statuses = [self._delete_records(tp, offset) for tp, offset in offsets.items()]
        waiting: Deferred[None] = Deferred()
        operation = DelayedDeleteRecords(
            statuses,
            self.partition_or_error,
            lambda: list(self._metadata_cache.snapshot.brokers),
            lambda: waiting.callback(None),
        )
        self._delete_records_purgatory.try_complete_else_watch(operation, offsets, timeout_ms)
        await waiting
        return {status.tp: (status.low_watermark, status.error_code) for status in statuses}

    def _delete_records(self, tp: TopicPartition, offset: int) -> DeleteRecordsStatus:
        try:
            reached = self.partition_or_error(tp).delete_records_on_leader(offset)
        except KafkaError as error:
            return DeleteRecordsStatus(tp, -1, error.code)
        return DeleteRecordsStatus(tp, reached)


def _elsewhere(partition: Partition, request: FetchPartition, replica: int) -> PartitionRead:
    """Answer no records, but where to read them."""
    offsets = partition.fetch_offset_snapshot(request.current_leader_epoch, only_from_leader=False)
    result = ReadResult(
        FetchDataInfo(LogOffsetMetadata(request.fetch_offset), b""),
        offsets.high_watermark.message_offset,
        offsets.log_start_offset,
        offsets.log_end_offset.message_offset,
        offsets.last_stable_offset.message_offset,
    )
    return PartitionRead(partition.tp, request, result, preferred_read_replica=replica)
