"""Leaders change their in-sync replicas: by AlterIsr, or (before protocol 2.7) in ZooKeeper.

Part of Kafka's `KafkaController`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from twisted.logger import Logger

from kafkalike.controller.events import AlterIsrReceived
from kafkalike.controller.parts import ControllerParts
from kafkalike.controller.reassignment import PartitionReassignments
from kafkalike.model.leader_and_isr import LeaderAndIsr
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode, StaleBrokerEpochError

log = Logger()

AlterIsrOutcome = dict[TopicPartition, LeaderAndIsr | ErrorCode]


class IsrChanges:
    """Reacts to AlterIsrReceived and IsrChangeNotification."""

    def __init__(self, parts: ControllerParts, reassignments: PartitionReassignments) -> None:
        self._parts = parts
        self._context = parts.context
        self._zk = parts.zk
        self._reassignments = reassignments

    async def load(self) -> None:
        """Read the states of all partitions, for a controller that has just been elected."""
        self._context.leadership.clear()
        await self._read_states(self._context.all_partitions)

    async def process_alter_isr(self, event: AlterIsrReceived) -> None:
        """Write new ISRs where they are still wanted, answer, and finish moves that this allows."""
        self._check_broker(event.broker_id, event.broker_epoch)
        outcome = await self._alter(event.isrs_to_alter)
        event.answer(outcome)
        for tp, result in outcome.items():
            if isinstance(result, LeaderAndIsr):
                await self._reassignments.maybe_complete(tp)

    async def process_isr_change_notification(self) -> None:
        """Read ISRs that leaders wrote, and tell all brokers."""
        numbers = await self._zk.get_all_isr_change_notifications()
        try:
            partitions = list(
                dict.fromkeys(await self._zk.get_partitions_from_isr_change_notifications(numbers))
            )
            if partitions:
                await self._read_states(partitions)
                self._parts.send_update_metadata_to_all(partitions)
                for tp in partitions:
                    await self._reassignments.maybe_complete(tp)
        finally:
            await self._zk.delete_isr_change_notifications(self._context.epoch_zk_version, numbers)

    def _check_broker(self, broker_id: int, broker_epoch: int) -> None:
        known = self._context.broker_epoch(broker_id)
        if known != broker_epoch:
            raise StaleBrokerEpochError(
                f"AlterIsr of broker {broker_id} in epoch {broker_epoch}, but it is {known}"
            )

    async def _alter(self, isrs: Mapping[TopicPartition, LeaderAndIsr]) -> AlterIsrOutcome:
        outcome: AlterIsrOutcome = {}
        wanted = {}
        for tp, asked in isrs.items():
            known = self._context.leadership.get(tp)
            if known is None:
                outcome[tp] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                continue
            new = self._without_leaving(asked, known.leader_and_isr)
            if new.leader_epoch < known.leader_and_isr.leader_epoch:
                outcome[tp] = ErrorCode.FENCED_LEADER_EPOCH
            elif new == known.leader_and_isr.with_zk_version(new.zk_version):
                outcome[tp] = known.leader_and_isr
            else:
                wanted[tp] = new
        written = await self._zk.update_leader_and_isr(
            wanted, self._context.epoch, self._context.epoch_zk_version
        )
        for tp, result in written.finished.items():
            if isinstance(result, LeaderAndIsr):
                outcome[tp] = result
            else:
                log.error("the ISR of {tp} could not be written: {error}", tp=tp, error=result)
                outcome[tp] = ErrorCode.UNKNOWN_SERVER_ERROR
        outcome.update(dict.fromkeys(written.to_retry, ErrorCode.INVALID_UPDATE_VERSION))
        altered = [tp for tp, r in written.finished.items() if isinstance(r, LeaderAndIsr)]
        await self._read_states(altered)
        self._parts.send_update_metadata_to_all(isrs)
        return outcome

    def _without_leaving(self, asked: LeaderAndIsr, known: LeaderAndIsr) -> LeaderAndIsr:
        """Let no replica in that stops or is gone: acks=all would wait until it has lagged enough.

        A leader that has given office away, and was told to follow, fetches until it ends; so the
        new leader asks for it. Later versions of Kafka refuse that as well (KIP-841).
        """
        live = self._context.live_broker_ids
        return replace(asked, isr=tuple(b for b in asked.isr if b in known.isr or b in live))

    async def _read_states(self, partitions: Iterable[TopicPartition]) -> None:
        """Refresh what we know from ZooKeeper; a topic that is gone meanwhile stays unknown."""
        states = await self._zk.get_topic_partition_states(partitions)
        for tp, state in states.items():
            if self._context.replicas(tp):
                self._context.leadership[tp] = state
