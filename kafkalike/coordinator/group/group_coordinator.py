"""The group coordinator: membership and committed offsets of the groups of this broker.

Kafka's GroupCoordinator, cut by idea: `joining` and `syncing` take the requests of a rebalance,
`rebalances` has its course, `offset_commits` the offsets, `group_store` the groups and their
records, `group_loader` what happens when a partition of `__consumer_offsets` comes to this broker.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from twisted.logger import Logger

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.coordinator.group.group_loader import GroupLoader, Load
from kafkalike.coordinator.group.group_metadata import (
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    GroupMetadata,
)
from kafkalike.coordinator.group.group_offsets import OffsetAndMetadata
from kafkalike.coordinator.group.group_store import GroupStore, Replicas
from kafkalike.coordinator.group.joining import JoinGroup, Joining
from kafkalike.coordinator.group.offset_commits import Codes, CommitOffsets, OffsetCommits
from kafkalike.coordinator.group.rebalances import Rebalances
from kafkalike.coordinator.group.results import (
    UNKNOWN_MEMBER_ID,
    GroupSummary,
    JoinGroupResult,
    SyncGroupResult,
)
from kafkalike.coordinator.group.syncing import SyncGroup, Syncing
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode
from kafkalike.utils.background import Background
from kafkalike.utils.blocking import RunBlocking
from kafkalike.utils.time import Time

log = Logger()


class GroupCoordinator:
    """Coordinates the groups whose partition of `__consumer_offsets` this broker leads."""

    def __init__(
        self,
        config: BrokerConfig,
        replicas: Replicas,
        time: Time,
        run_blocking: RunBlocking,
        new_uuid: Callable[[], str],
        *,
        partition_count: int,
    ) -> None:
        self._time = time
        self._background = Background()
        self.store = GroupStore(config, replicas, time, partition_count)
        self._rebalances = Rebalances(config, self.store, time, self._background)
        self._joining = Joining(
            config, self.store, self._rebalances, time, self._background, new_uuid
        )
        self._syncing = Syncing(self.store, self._rebalances, time, self._background)
        self._offsets = OffsetCommits(config, self.store, self._rebalances, time)
        self._loader = GroupLoader(
            config, replicas, time, run_blocking, self._background, self._loaded
        )
        self._loads: dict[int, Load] = {}
        self._epochs: dict[int, int] = {}
        self._is_active = True

    def shutdown(self) -> None:
        """Coordinate nothing any more."""
        self._is_active = False
        self._background.stop()
        self._rebalances.shutdown()

    def partition_for(self, group_id: str) -> int:
        """Return the partition of `__consumer_offsets` that a group lives in."""
        return self.store.partition_for(group_id)

    def _status(self, group_id: str, *, may_be_empty: bool = False) -> ErrorCode:
        """Whether this broker has the say over a group now."""
        if not group_id and not may_be_empty:
            return ErrorCode.INVALID_GROUP_ID
        if not self._is_active:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        partition = self.store.partition_for(group_id)
        if partition in self.store.owned_partitions:
            return ErrorCode.NONE
        if partition in self.store.loading_partitions:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return ErrorCode.NOT_COORDINATOR

    # --- membership

    async def join_group(self, request: JoinGroup) -> JoinGroupResult:
        """Take part in the next generation of a group; waits for it."""
        code = self._status(request.group_id)
        if code is not ErrorCode.NONE:
            return JoinGroupResult(member_id=request.member_id, error_code=code)
        return await self._joining.join(request)

    async def sync_group(self, request: SyncGroup) -> SyncGroupResult:
        """Learn what is assigned to a member; waits for the leader of the group."""
        code = self._status(request.group_id)
        if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            # The rebalance is lost with the former coordinator, and old clients do not know the
            # error: this one makes them join again.
            code = ErrorCode.REBALANCE_IN_PROGRESS
        if code is not ErrorCode.NONE:
            return SyncGroupResult(error_code=code)
        return await self._syncing.sync(request)

    def heartbeat(
        self, group_id: str, member_id: str, generation_id: int, group_instance_id: str | None
    ) -> ErrorCode:
        """Note that a member is alive, and tell it if it has to join again."""
        code = self._status(group_id)
        if code is not ErrorCode.NONE:
            # Nobody is thrown out while loading.
            is_loading = code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            return ErrorCode.NONE if is_loading else code
        group = self.store.get(group_id)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if group.state is DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if group.is_static_member_fenced(member_id, group_instance_id):
            return ErrorCode.FENCED_INSTANCE_ID
        member = group.members.get(member_id)
        if member is None or group.state is EMPTY:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if generation_id != group.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        self._rebalances.heard_of(group, member)
        if group.state is PREPARING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def leave_group(
        self, group_id: str, members: Iterable[tuple[str, str | None]]
    ) -> tuple[ErrorCode, list[ErrorCode]]:
        """Take members (ids with group.instance.ids) out; (error of the group, of each member)."""
        code = self._status(group_id)
        if code is not ErrorCode.NONE:
            return code, []
        group = self.store.get(group_id)
        if group is None:
            return ErrorCode.NONE, [ErrorCode.UNKNOWN_MEMBER_ID for _ in members]
        if group.state is DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, []
        return ErrorCode.NONE, [self._leave(group, *member) for member in members]

    def _leave(
        self, group: GroupMetadata, member_id: str, group_instance_id: str | None
    ) -> ErrorCode:
        is_known = member_id != UNKNOWN_MEMBER_ID
        if is_known and group.is_static_member_fenced(member_id, group_instance_id):
            return ErrorCode.FENCED_INSTANCE_ID
        if member_id in group.pending_members:
            self._rebalances.remove_pending_member(group, member_id)
            return ErrorCode.NONE
        # An operator removes a static member by its instance id alone.
        found_id = group.static_members.get(group_instance_id or "", member_id)
        member = group.members.get(found_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        log.info("group {group}: member {member} leaves", group=group.group_id, member=found_id)
        self._rebalances.remove_member(group, member, f"member {found_id} leaves")
        return ErrorCode.NONE

    # --- offsets

    async def commit_offsets(self, request: CommitOffsets) -> Codes:
        """Store offsets of a group; the answer has an error code for each partition."""
        code = self._status(request.group_id, may_be_empty=not request.is_transactional)
        if code is not ErrorCode.NONE:
            return dict.fromkeys(request.offsets, code)
        return await self._offsets.commit(request)

    def fetch_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition] | None, *, require_stable: bool
    ) -> tuple[ErrorCode, Mapping[TopicPartition, OffsetAndMetadata | ErrorCode | None]]:
        """Return what a group has committed (see `OffsetCommits.fetch`)."""
        code = self._status(group_id, may_be_empty=True)
        if code is not ErrorCode.NONE:
            return code, {}
        return code, self._offsets.fetch(group_id, partitions, require_stable=require_stable)

    async def delete_offsets(
        self, group_id: str, partitions: Sequence[TopicPartition]
    ) -> tuple[ErrorCode, Codes]:
        """Delete committed offsets; (error of the group, error of each partition)."""
        code = self._status(group_id)
        if code is not ErrorCode.NONE:
            return code, {}
        return await self._offsets.delete(group_id, partitions)

    async def remove_expired_offsets(self) -> None:
        """Delete what has expired; to be called from time to time."""
        await self._offsets.remove_expired()

    def partitions_deleted(self, partitions: Sequence[TopicPartition]) -> None:
        """Forget the offsets of partitions that are gone."""
        self._background.start(self._offsets.remove_partitions(partitions), "removing offsets")

    def complete_transaction(
        self, producer_id: int, partitions: Iterable[int], *, is_commit: bool
    ) -> None:
        """Let the offsets of a transaction take effect, or forget them: its marker is written.

        `partitions` are those of `__consumer_offsets` that have the marker.
        """
        self.store.complete_transaction(producer_id, partitions, is_commit=is_commit)

    # --- groups

    async def delete_groups(self, group_ids: Iterable[str]) -> dict[str, ErrorCode]:
        """Delete groups without members, with their offsets."""
        codes = {one: self._status(one, may_be_empty=True) for one in group_ids}
        ours = [group_id for group_id, code in codes.items() if code is ErrorCode.NONE]
        return codes | await self._offsets.delete_groups(ours)

    def list_groups(self, states: Collection[str]) -> tuple[ErrorCode, list[GroupSummary]]:
        """List the groups in these states, all if none is given."""
        if not self._is_active:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, []
        is_loading = bool(self.store.loading_partitions)
        code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if is_loading else ErrorCode.NONE
        return code, [
            group.overview()
            for group in self.store.groups.values()
            if not states or group.state.value in states
        ]

    def describe_group(self, group_id: str) -> tuple[ErrorCode, GroupSummary]:
        """Describe a group; one that does not exist is dead."""
        code = self._status(group_id, may_be_empty=True)
        if code is not ErrorCode.NONE:
            return code, GroupSummary(group_id=group_id)
        group = self.store.get(group_id)
        if group is None:
            return code, GroupSummary(group_id=group_id, state=DEAD.value)
        return code, group.summary()

    # --- partitions of __consumer_offsets

    def on_election(self, partition: int, epoch: int) -> None:
        """Coordinate the groups of a partition that this broker leads now; they are loaded."""
        if not self._is_newest(partition, epoch) or partition in self.store.owned_partitions:
            return
        if partition not in self._loads:
            self.store.loading_partitions.add(partition)
            self._loads[partition] = self._loader.start(partition)

    def on_resignation(self, partition: int, epoch: int | None) -> None:
        """Give up the groups of a partition that another broker leads, or that is deleted."""
        if not self._is_newest(partition, epoch):
            return
        load = self._loads.pop(partition, None)
        if load is not None:
            load.is_abandoned = True
        groups = self.store.remove_partition(partition)
        for group in groups:
            self._rebalances.unloaded(group)
        if groups:
            log.info(
                "{count} groups of partition {partition} are given up",
                count=len(groups),
                partition=partition,
            )

    def _is_newest(self, partition: int, epoch: int | None) -> bool:
        if epoch is None:
            return True
        if epoch < self._epochs.get(partition, epoch):
            return False
        self._epochs[partition] = epoch
        return True

    def _loaded(self, load: Load, groups: Iterable[GroupMetadata]) -> None:
        self._loads.pop(load.partition, None)
        for group in groups:
            self.store.add_loaded(group)
            self._rebalances.loaded(group)
        self.store.loading_partitions.discard(load.partition)
        self.store.owned_partitions.add(load.partition)
