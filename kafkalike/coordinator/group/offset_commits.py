"""Committed offsets: who may commit, what is answered, what is deleted and when.

The offset part of Kafka's GroupCoordinator; the group has been found to be ours before.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from twisted.logger import Logger

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.coordinator.group.group_metadata import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    GroupMetadata,
)
from kafkalike.coordinator.group.group_offsets import OffsetAndMetadata, Offsets
from kafkalike.coordinator.group.group_store import GroupStore
from kafkalike.coordinator.group.rebalances import Rebalances
from kafkalike.coordinator.group.results import NO_GENERATION, UNKNOWN_MEMBER_ID
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.records.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from kafkalike.utils.time import Time

log = Logger()

_MINUTE_MS = 60_000

Codes = dict[TopicPartition, ErrorCode]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitOffsets:
    """A commit; without member and generation by one who only stores offsets here.

    With a producer id it is part of that producer's transaction.
    """

    group_id: str
    member_id: str = UNKNOWN_MEMBER_ID
    group_instance_id: str | None = None
    generation_id: int = NO_GENERATION
    offsets: Offsets
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH

    @property
    def is_transactional(self) -> bool:
        """Whether it takes effect only with a transaction."""
        return self.producer_id != NO_PRODUCER_ID


class OffsetCommits:
    """Takes commits and answers what was committed; owned by the coordinator."""

    def __init__(
        self, config: BrokerConfig, store: GroupStore, rebalances: Rebalances, time: Time
    ) -> None:
        self._config = config
        self._store = store
        self._rebalances = rebalances
        self._time = time

    async def commit(self, request: CommitOffsets) -> Codes:
        """Store offsets; the answer has an error code for each partition."""
        group = self._store.get(request.group_id)
        if group is None:
            if request.generation_id >= 0 and not request.is_transactional:
                # Of a generation that is forgotten.
                return dict.fromkeys(request.offsets, ErrorCode.ILLEGAL_GENERATION)
            group = self._store.get_or_create(request.group_id)
        if group.state is DEAD:
            code = ErrorCode.COORDINATOR_NOT_AVAILABLE
        elif group.is_static_member_fenced(request.member_id, request.group_instance_id):
            code = ErrorCode.FENCED_INSTANCE_ID
        elif request.is_transactional:
            code = _txn_refusal(group, request)
        else:
            code = self._refusal(group, request)
        if code is not ErrorCode.NONE:
            return dict.fromkeys(request.offsets, code)
        return await self._store.store_offsets(
            group, request.offsets, request.producer_id, request.producer_epoch
        )

    def _refusal(self, group: GroupMetadata, request: CommitOffsets) -> ErrorCode:
        if request.generation_id < 0 and group.state is EMPTY:
            return ErrorCode.NONE  # the group only stores offsets
        member = group.members.get(request.member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if request.generation_id != group.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        if group.state is COMPLETING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        self._rebalances.heard_of(group, member)
        return ErrorCode.NONE

    # --- fetch

    def fetch(
        self, group_id: str, partitions: Iterable[TopicPartition] | None, *, require_stable: bool
    ) -> Mapping[TopicPartition, OffsetAndMetadata | ErrorCode | None]:
        """Return what is committed for partitions (None: for all that have something).

        With `require_stable`, a partition with a commit on its way has UNSTABLE_OFFSET_COMMIT.
        """
        group = self._store.get(group_id)
        if group is None or group.state is DEAD:
            return dict.fromkeys(partitions or ())
        offsets = group.offsets
        wanted = offsets.partitions if partitions is None else partitions
        return {
            tp: (
                ErrorCode.UNSTABLE_OFFSET_COMMIT
                if require_stable and offsets.is_pending(tp)
                else offsets.get(tp)
            )
            for tp in wanted
        }

    # --- deletion

    async def delete(
        self, group_id: str, partitions: Sequence[TopicPartition]
    ) -> tuple[ErrorCode, Codes]:
        """Delete offsets of topics that the group does not read; (error of the group, of each)."""
        group = self._store.get(group_id)
        if group is None or group.state is DEAD:
            return ErrorCode.GROUP_ID_NOT_FOUND, {}
        codes: Codes = {}
        if group.state is not EMPTY:
            if not group.is_consumer_group:
                return ErrorCode.NON_EMPTY_GROUP, {}
            codes = {
                tp: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
                for tp in partitions
                if group.is_subscribed_to(tp.topic)
            }
        free = [tp for tp in partitions if tp not in codes]
        if free:
            count = await self._store.clean_up([group], lambda one: one.offsets.remove(free))
            log.info("group {group}: {count} offsets deleted", group=group_id, count=count)
        return ErrorCode.NONE, {**codes, **dict.fromkeys(free, ErrorCode.NONE)}

    async def delete_groups(self, group_ids: Iterable[str]) -> dict[str, ErrorCode]:
        """Delete groups that have no members."""
        codes: dict[str, ErrorCode] = {}
        dying = []
        for group_id in group_ids:
            group = self._store.get(group_id)
            if group is None or group.state is DEAD:
                codes[group_id] = ErrorCode.GROUP_ID_NOT_FOUND
            elif group.state is EMPTY:
                codes[group_id] = ErrorCode.NONE
                group.transition_to(DEAD, self._time.now_ms())
                dying.append(group)
            else:
                codes[group_id] = ErrorCode.NON_EMPTY_GROUP
        if dying:
            await self._store.clean_up(
                dying, lambda one: one.offsets.remove(one.offsets.partitions)
            )
            log.info("groups deleted: {groups}", groups=[group.group_id for group in dying])
        return codes

    async def remove_expired(self) -> None:
        """Delete offsets whose retention is over, and groups that have none left (KIP-211)."""
        retention_ms = self._config.offsets_retention_minutes * _MINUTE_MS
        now_ms = self._time.now_ms()
        count = await self._store.clean_up(
            self._store.groups.values(),
            lambda group: group.remove_expired_offsets(now_ms, retention_ms),
        )
        if count:
            log.info("{count} offsets have expired", count=count)

    async def remove_partitions(self, partitions: Sequence[TopicPartition]) -> None:
        """Delete the offsets of partitions that were deleted."""
        count = await self._store.clean_up(
            self._store.groups.values(), lambda group: group.offsets.remove(partitions)
        )
        if count:
            log.info("{count} offsets of deleted partitions are removed", count=count)


def _txn_refusal(group: GroupMetadata, request: CommitOffsets) -> ErrorCode:
    """Check member and generation if the producer tells them (KIP-447)."""
    if request.member_id != UNKNOWN_MEMBER_ID and request.member_id not in group.members:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if request.generation_id >= 0 and request.generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.NONE
