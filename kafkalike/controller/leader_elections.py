"""Elections that somebody asks for: ElectLeaders, the znode of the old tools, and the balance.

Part of Kafka's `KafkaController`.
"""

from collections.abc import Iterable

from twisted.logger import Logger

from kafkalike.controller.election import ElectionStrategy, preferred_leader
from kafkalike.controller.events import (
    ElectionTrigger,
    ElectionType,
    ZkPreferredReplicaElection,
)
from kafkalike.controller.partition_state_machine import Elections
from kafkalike.controller.parts import ControllerParts
from kafkalike.controller.states import PartitionState, StateChangeFailedError
from kafkalike.model.leader_and_isr import NO_LEADER, LeaderAndIsr
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    ElectionNotNeededError,
    EligibleLeadersNotAvailableError,
    InvalidTopicError,
    KafkaError,
    PreferredLeaderNotAvailableError,
    UnknownServerError,
    UnknownTopicOrPartitionError,
)

log = Logger()

ElectionOutcome = dict[TopicPartition, int | KafkaError]


class LeaderElections:
    """Reacts to wishes for elections, and holds those that keep leaders balanced."""

    def __init__(self, parts: ControllerParts) -> None:
        self._parts = parts
        self._context = parts.context
        self._watches = parts.watches

    async def load(self) -> None:
        """Hold the elections that were asked for in ZooKeeper while there was no controller."""
        wanted = await self._parts.zk.get_preferred_replica_election()
        pending = [
            tp
            for tp in wanted
            if self._context.replicas(tp)
            and not self._parts.topic_deletion.is_queued(tp.topic)
            and self._context.leader(tp) != self._context.replicas(tp)[0]
        ]
        await self._elect(pending, ElectionType.PREFERRED, ElectionTrigger.ZK)

    async def process_zk_election(self) -> None:
        """Hold the elections that are asked for in ZooKeeper."""
        if await self._watches.watch_preferred_replica_election():
            wanted = await self._parts.zk.get_preferred_replica_election()
            await self._hold(wanted, ElectionType.PREFERRED, ElectionTrigger.ZK)

    async def process_election(
        self, partitions: Iterable[TopicPartition], election_type: ElectionType
    ) -> ElectionOutcome:
        """Hold the elections that an admin client asks for."""
        return await self._hold(partitions, election_type, ElectionTrigger.ADMIN_CLIENT)

    async def process_auto_election(self) -> None:
        """Let preferred replicas lead again on brokers that lead too few of theirs."""
        tolerated = self._parts.config().leader_imbalance_per_broker_percentage / 100
        by_preferred: dict[int, list[TopicPartition]] = {}
        for tp in self._context.all_partitions:
            if self._context.replicas(tp) and not self._parts.topic_deletion.is_queued(tp.topic):
                by_preferred.setdefault(self._context.replicas(tp)[0], []).append(tp)
        for broker_id, partitions in by_preferred.items():
            strayed = [tp for tp in partitions if self._context.leader(tp) not in (None, broker_id)]
            if len(strayed) / len(partitions) > tolerated:
                electable = [tp for tp in strayed if self._may_rebalance(tp)]
                await self._elect(electable, ElectionType.PREFERRED, ElectionTrigger.AUTO)

    def _may_rebalance(self, tp: TopicPartition) -> bool:
        if self._context.partitions_being_reassigned:
            return False
        isr = self._context.leadership[tp].leader_and_isr.isr
        live = self._context.live_replicas(tp)
        return preferred_leader(self._context.replicas(tp), isr, live) is not None

    async def _hold(
        self,
        partitions: Iterable[TopicPartition],
        election_type: ElectionType,
        trigger: ElectionTrigger,
    ) -> ElectionOutcome:
        outcome: ElectionOutcome = {}
        electable = []
        for tp in partitions:
            refusal = self._refusal(tp, election_type)
            if refusal is None:
                electable.append(tp)
            else:
                outcome[tp] = refusal
        results = await self._elect(electable, election_type, trigger)
        for tp in electable:
            never_led = StateChangeFailedError(f"{tp} has not had a leader yet")
            outcome[tp] = _leader_or_error(results.get(tp, never_led), election_type)
        return outcome

    def _refusal(self, tp: TopicPartition, election_type: ElectionType) -> KafkaError | None:
        if not self._context.replicas(tp):
            return UnknownTopicOrPartitionError("The partition does not exist.")
        if self._parts.topic_deletion.is_queued(tp.topic):
            return InvalidTopicError("The topic is being deleted")
        leader = self._context.leader(tp)
        if election_type is ElectionType.PREFERRED:
            is_needed = leader != self._context.replicas(tp)[0]
        else:
            is_needed = leader in (None, NO_LEADER) or leader not in self._context.live_broker_ids
        return None if is_needed else ElectionNotNeededError()

    async def _elect(
        self,
        partitions: list[TopicPartition],
        election_type: ElectionType,
        trigger: ElectionTrigger,
    ) -> Elections:
        log.info(
            "election ({type}) for {partitions}, {trigger}",
            type=election_type.name,
            partitions=partitions,
            trigger=trigger.value,
        )
        if election_type is ElectionType.PREFERRED:
            strategy = ElectionStrategy.PREFERRED
        elif trigger is ElectionTrigger.ADMIN_CLIENT:
            strategy = ElectionStrategy.OFFLINE_ALLOW_UNCLEAN
        else:
            strategy = ElectionStrategy.OFFLINE
        try:
            return await self._parts.partition_state_machine.handle_state_changes(
                partitions, PartitionState.ONLINE, strategy
            )
        finally:
            if trigger is ElectionTrigger.ZK:
                await self._clear_zk_wish()

    async def _clear_zk_wish(self) -> None:
        await self._parts.zk.delete_preferred_replica_election(self._context.epoch_zk_version)
        # Its handler is told of creations only: look once more to set the watch again.
        self._parts.put_event(ZkPreferredReplicaElection())


def _leader_or_error(result: LeaderAndIsr | Exception, kind: ElectionType) -> int | KafkaError:
    if isinstance(result, LeaderAndIsr):
        return result.leader
    if isinstance(result, StateChangeFailedError):
        if kind is ElectionType.PREFERRED:
            return PreferredLeaderNotAvailableError(str(result))
        return EligibleLeadersNotAvailableError(str(result))
    return result if isinstance(result, KafkaError) else UnknownServerError(str(result))
