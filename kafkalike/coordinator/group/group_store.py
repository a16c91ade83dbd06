"""The groups of this broker, and their records in `__consumer_offsets` (GroupMetadataManager).

A group lives in one partition; who leads that partition coordinates the group. Nothing counts as
stored before the log has acknowledged it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from twisted.logger import Logger

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.coordinator.group.group_metadata import DEAD, EMPTY, GroupMetadata
from kafkalike.coordinator.group.group_offsets import Offsets
from kafkalike.coordinator.group.group_records import (
    KeyAndValue,
    group_record,
    offset_record,
    tombstones,
)
from kafkalike.coordinator.partitioning import partition_for
from kafkalike.log.append_origin import AppendOrigin
from kafkalike.log.log import Log
from kafkalike.model.topic import GROUP_METADATA_TOPIC
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.record_batch import MAGIC_V2, NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from kafkalike.replication.delayed_produce import ProduceStatus
from kafkalike.utils.time import Time

log = Logger()

_APPEND_ERRORS: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
}
"""What a member or a committing client is told when the log refuses a record."""
_TOO_LARGE: Final = (
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.INVALID_FETCH_SIZE,
)
_STORE_GROUP_ERRORS: Final = {
    **_APPEND_ERRORS,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.REBALANCE_IN_PROGRESS,
    **dict.fromkeys(_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
}
_STORE_OFFSETS_ERRORS: Final = {
    **_APPEND_ERRORS,
    **dict.fromkeys(_TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
}


class Replicas(Protocol):
    """What of the replica manager is needed here."""

    def get_log(self, tp: TopicPartition) -> Log | None:
        """Return the log of a partition that is on this broker."""

    async def append_records(
        self,
        entries: Iterable[tuple[TopicPartition, memoryview]],
        required_acks: int,
        timeout_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> list[ProduceStatus]:
        """Append to partitions that this broker leads."""


class GroupStore:
    """Holds the groups of the partitions that this broker leads and has loaded."""

    def __init__(
        self, config: BrokerConfig, replicas: Replicas, time: Time, partition_count: int
    ) -> None:
        self._config = config
        self._replicas = replicas
        self._time = time
        self.partition_count = partition_count
        self.groups: dict[str, GroupMetadata] = {}
        self.owned_partitions: set[int] = set()
        self.loading_partitions: set[int] = set()
        # Which groups a marker ends transactions of: a marker names only partition and producer.
        self._open_groups: dict[int, set[str]] = {}

    # --- which groups

    def partition_for(self, group_id: str) -> int:
        """Return the partition of a group."""
        return partition_for(group_id, self.partition_count)

    def get(self, group_id: str) -> GroupMetadata | None:
        """Return a group of this broker."""
        return self.groups.get(group_id)

    def get_or_create(self, group_id: str) -> GroupMetadata:
        """Return a group of this broker, an empty one if there was none."""
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = GroupMetadata(group_id, self._time.now_ms())
        return group

    def add_loaded(self, group: GroupMetadata) -> None:
        """Take in a group from the log."""
        self.groups[group.group_id] = group
        for producer_id in group.offsets.producers:
            self._open_groups.setdefault(producer_id, set()).add(group.group_id)

    def remove_partition(self, partition: int) -> list[GroupMetadata]:
        """Forget a partition with its groups, and return them."""
        self.owned_partitions.discard(partition)
        self.loading_partitions.discard(partition)
        removed = [
            group
            for group in self.groups.values()
            if self.partition_for(group.group_id) == partition
        ]
        for group in removed:
            self._forget(group)
        return removed

    def _forget(self, group: GroupMetadata) -> None:
        if self.groups.get(group.group_id) is group:
            del self.groups[group.group_id]
            for producer_id in group.offsets.producers:
                self._close_for_producer(producer_id, group.group_id)

    # --- writing

    async def store_group(self, group: GroupMetadata, assignment: Mapping[str, bytes]) -> ErrorCode:
        """Write a group with the assignments of its members."""
        protocol = self._config.inter_broker_api_version
        record = group_record(group, assignment, protocol)
        code, _ = await self._append(group.group_id, [record])
        if code in _TOO_LARGE:
            log.error(
                "group {group}, generation {generation} cannot be stored: {code} (see"
                " message.max.bytes and max.message.bytes of {topic})",
                group=group.group_id,
                generation=group.generation_id,
                code=code.name,
                topic=GROUP_METADATA_TOPIC,
            )
        return _STORE_GROUP_ERRORS.get(code, code)

    async def store_offsets(
        self,
        group: GroupMetadata,
        offsets: Offsets,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
    ) -> dict[TopicPartition, ErrorCode]:
        """Commit offsets, in a transaction if a producer is given; each with what became of it."""
        limit = self._config.offset_metadata_max_bytes
        accepted = {tp: value for tp, value in offsets.items() if len(value.metadata) <= limit}
        told = dict.fromkeys(offsets, ErrorCode.OFFSET_METADATA_TOO_LARGE)
        if accepted:
            _warn_of_mixed_commits(group)
            if producer_id == NO_PRODUCER_ID:
                code = await self._commit(group, accepted)
            else:
                code = await self._commit_in_txn(group, accepted, producer_id, producer_epoch)
            told.update(dict.fromkeys(accepted, _STORE_OFFSETS_ERRORS.get(code, code)))
        return told

    async def _commit(self, group: GroupMetadata, offsets: Offsets) -> ErrorCode:
        group.offsets.prepare(offsets)
        code, batch_offset = await self._append_offsets(group, offsets)
        if group.state is not DEAD:
            if code is ErrorCode.NONE:
                group.offsets.appended(offsets, batch_offset)
            else:
                group.offsets.failed(offsets)
        return code

    async def _commit_in_txn(
        self, group: GroupMetadata, offsets: Offsets, producer_id: int, producer_epoch: int
    ) -> ErrorCode:
        self._open_groups.setdefault(producer_id, set()).add(group.group_id)
        group.offsets.prepare_txn(producer_id, offsets)
        code, batch_offset = await self._append_offsets(group, offsets, producer_id, producer_epoch)
        if group.state is not DEAD:
            if code is ErrorCode.NONE:
                group.offsets.appended_txn(producer_id, offsets, batch_offset)
            else:
                group.offsets.failed_txn(producer_id, offsets)
                if not group.offsets.has_pending_from(producer_id):
                    self._close_for_producer(producer_id, group.group_id)
        return code

    async def _append_offsets(
        self,
        group: GroupMetadata,
        offsets: Offsets,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
    ) -> tuple[ErrorCode, int]:
        protocol = self._config.inter_broker_api_version
        records = [
            offset_record(group.group_id, tp, value, protocol) for tp, value in offsets.items()
        ]
        return await self._append(
            group.group_id,
            records,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=0,  # as Kafka, also without a producer
            is_transactional=producer_id != NO_PRODUCER_ID,
        )

    # Any: the options of a BatchBuilder.
    async def _append(
        self,
        group_id: str,
        records: Sequence[KeyAndValue],
        required_acks: int | None = None,
        **options: Any,
    ) -> tuple[ErrorCode, int]:
        """Append records of a group; return the error and the offset of the batch."""
        tp = TopicPartition(GROUP_METADATA_TOPIC, self.partition_for(group_id))
        local_log = self._replicas.get_log(tp)
        if local_log is None:
            return ErrorCode.NOT_COORDINATOR, -1
        magic = local_log.config.record_version
        if magic < MAGIC_V2 and options.get("is_transactional"):
            return ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, -1
        config = self._config
        (status,) = await self._replicas.append_records(
            [(tp, self._batch(magic, records, options))],
            config.offsets_commit_required_acks if required_acks is None else required_acks,
            config.offsets_commit_timeout_ms,
            AppendOrigin.COORDINATOR,
        )
        if status.error is not None:
            log.debug("group {group}: {error}", group=group_id, error=status.error)
            return status.error.code, -1
        assert status.info is not None, "appended without an error"
        return ErrorCode.NONE, status.info.first_offset

    def _batch(
        self, magic: int, records: Sequence[KeyAndValue], options: dict[str, Any]
    ) -> memoryview:
        compression = CompressionType(self._config.offsets_topic_compression_codec)
        builder = BatchBuilder(magic=magic, compression=compression, **options)
        now_ms = self._time.now_ms()
        for key, value in records:
            builder.append(now_ms, key, value)
        return memoryview(builder.build())

    # --- transactions

    def complete_transaction(
        self, producer_id: int, partitions: Iterable[int], *, is_commit: bool
    ) -> None:
        """End a producer's transaction in groups of these partitions: the marker is written."""
        ended = set(partitions)
        for group_id in list(self._open_groups.get(producer_id, ())):
            if self.partition_for(group_id) not in ended:
                continue
            group = self.groups.get(group_id)
            if group is not None and group.state is not DEAD:
                group.offsets.complete_txn(producer_id, is_commit=is_commit)
            if group is None or not group.offsets.has_pending_from(producer_id):
                self._close_for_producer(producer_id, group_id)

    def _close_for_producer(self, producer_id: int, group_id: str) -> None:
        groups = self._open_groups.get(producer_id)
        if groups is not None:
            groups.discard(group_id)
            if not groups:
                del self._open_groups[producer_id]

    # --- removal

    async def clean_up(
        self,
        groups: Iterable[GroupMetadata],
        remove_offsets: Callable[[GroupMetadata], Sequence[TopicPartition]],
    ) -> int:
        """Remove offsets of groups, and groups that are dead; return how many offsets went."""
        removed_count = 0
        for group in list(groups):
            if self.groups.get(group.group_id) is not group:
                continue  # another broker coordinates it since the last write
            removed = remove_offsets(group)
            if group.state is EMPTY and group.offsets.is_empty:
                log.info(
                    "group {group} is dead in generation {generation}",
                    group=group.group_id,
                    generation=group.generation_id,
                )
                group.transition_to(DEAD, self._time.now_ms())
            is_dead = group.state is DEAD
            if is_dead:
                self._forget(group)
            # A group of generation 0 only stored offsets: there is no record of it.
            with_group = is_dead and group.generation_id > 0
            records = tombstones(group.group_id, removed, with_group=with_group)
            if records:
                # Should they get lost, the next round writes them again.
                code, _ = await self._append(group.group_id, records, required_acks=0)
                if code is ErrorCode.NONE:
                    removed_count += len(removed)
                else:
                    log.warn(
                        "group {group}: {count} offsets could not be deleted from the log: {code}",
                        group=group.group_id,
                        count=len(removed),
                        code=code.name,
                    )
        return removed_count


def _warn_of_mixed_commits(group: GroupMetadata) -> None:
    if not group.offsets.is_consistent:
        log.warn(
            "group {group} commits offsets by consumers as well as in transactions, which may"
            " surprise: use one way only",
            group=group.group_id,
        )
