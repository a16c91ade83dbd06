"""Brokers come, change, lose a log directory and go: leaders move, replicas are told.

Part of Kafka's `KafkaController`.
"""

from collections.abc import Iterable, Mapping, Sequence

from twisted.logger import Logger

from kafkalike.controller.features import FeatureVersions
from kafkalike.controller.parts import ControllerParts
from kafkalike.controller.reassignment import PartitionReassignments
from kafkalike.controller.states import PartitionAndReplica, PartitionState, ReplicaState
from kafkalike.model.broker import Broker
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.leader_and_isr import LeaderAndIsrResponse

log = Logger()


class BrokerChanges:
    """Reacts to BrokerChange, BrokerModifications, failed directories and LeaderAndIsr answers."""

    def __init__(
        self,
        parts: ControllerParts,
        reassignments: PartitionReassignments,
        features: FeatureVersions,
    ) -> None:
        self._parts = parts
        self._context = parts.context
        self._zk = parts.zk
        self._watches = parts.watches
        self._reassignments = reassignments
        self._features = features

    async def load(self) -> None:
        """Read all brokers, for a controller that has just been elected."""
        found = await self._zk.get_all_broker_and_epochs_in_cluster()
        self._context.set_live_brokers(self._compatible(found))
        await self._watches.watch_brokers(self._context.live_or_shutting_down_broker_ids)

    async def process_broker_change(self) -> None:
        """Compare the registrations with the brokers that we know."""
        found = await self._zk.get_all_broker_and_epochs_in_cluster()
        by_id = {broker.id: broker for broker in found}
        known = dict(self._context.broker_epochs)
        new = sorted(i for i in by_id if i not in known)
        dead = sorted(i for i in known if i not in by_id)
        bounced = sorted(i for i in by_id if i in known and found[by_id[i]] > known[i])
        log.info(
            "brokers: new {new}, gone {dead}, back again {bounced}, all {all}",
            new=new,
            dead=dead,
            bounced=bounced,
            all=sorted(by_id),
        )
        self._update_channels(new, dead, bounced, by_id)
        if new:
            added = {by_id[i]: found[by_id[i]] for i in new}
            self._context.add_live_brokers(self._compatible(added))
            await self._on_broker_startup(new)
        if bounced:
            self._context.remove_live_brokers(bounced)
            await self._on_broker_failure(bounced)
            back = {by_id[i]: found[by_id[i]] for i in bounced}
            self._context.add_live_brokers(self._compatible(back))
            await self._on_broker_startup(bounced)
        if dead:
            self._context.remove_live_brokers(dead)
            await self._on_broker_failure(dead)

    def _update_channels(
        self,
        new: Iterable[int],
        dead: Iterable[int],
        bounced: Iterable[int],
        by_id: Mapping[int, Broker],
    ) -> None:
        channels = self._parts.channels
        for broker_id in new:
            channels.add_broker(by_id[broker_id])
        for broker_id in bounced:
            channels.remove_broker(broker_id)
            channels.add_broker(by_id[broker_id])
        for broker_id in dead:
            channels.remove_broker(broker_id)

    def _compatible(self, found: Mapping[Broker, int]) -> dict[Broker, int]:
        """Leave out brokers that do not have what the whole cluster relies on."""
        compatible = {b: epoch for b, epoch in found.items() if self._features.are_met_by(b)}
        ignored = sorted(broker.id for broker in found if broker not in compatible)
        if ignored:
            log.warn("brokers {ids} are ignored: they lack finalized features", ids=ignored)
        return compatible

    async def process_broker_modifications(self, broker_id: int) -> None:
        """Tell all brokers of another's new end points."""
        new = await self._zk.get_broker(broker_id)
        old = self._context.live_broker(broker_id)
        if new is None or old is None:
            return
        if new.end_points != old.end_points or new.features != old.features:
            self._context.update_broker(new)
            self._parts.send_update_metadata_to_all()

    async def process_log_dir_event(self) -> None:
        """Ask brokers that lost a directory, by LeaderAndIsr, which replicas they still have."""
        numbers = await self._zk.get_all_log_dir_event_notifications()
        try:
            broker_ids = await self._zk.get_broker_ids_from_log_dir_events(numbers)
            replicas = self._context.replicas_on_brokers(dict.fromkeys(broker_ids))
            await self._parts.replica_state_machine.handle_state_changes(
                replicas, ReplicaState.ONLINE
            )
        finally:
            await self._zk.delete_log_dir_event_notifications(
                self._context.epoch_zk_version, numbers
            )

    async def process_leader_and_isr_response(
        self, response: LeaderAndIsrResponse, broker_id: int
    ) -> None:
        """Take replicas offline whose directory failed, and note those that are back."""
        if response.error_code != ErrorCode.NONE:
            log.error(
                "broker {broker} answered LeaderAndIsr with error {code}",
                broker=broker_id,
                code=response.error_code,
            )
            return
        errors = self._partition_errors(response)
        before = self._context.replicas_on_offline_dirs.get(broker_id, set())
        online = {tp for tp, code in errors.items() if code == ErrorCode.NONE}
        offline = {tp for tp, code in errors.items() if code == ErrorCode.KAFKA_STORAGE_ERROR}
        now = (before - online) | offline
        self._context.replicas_on_offline_dirs[broker_id] = now
        newly_offline = [PartitionAndReplica(tp, broker_id) for tp in sorted(now - before)]
        if newly_offline:
            await self.on_replicas_become_offline(newly_offline)

    def _partition_errors(self, response: LeaderAndIsrResponse) -> dict[TopicPartition, int]:
        """Give the code of each partition; from version 5 on topics are named by id."""
        errors = {
            TopicPartition(error.topic_name, error.partition_index): error.error_code
            for error in response.partition_errors
        }
        for topic in response.topics:
            name = self._context.topic_names.get(topic.topic_id)
            if name is not None:
                for error in topic.partition_errors:
                    errors[TopicPartition(name, error.partition_index)] = error.error_code
        return errors

    async def _on_broker_startup(self, new: Sequence[int]) -> None:
        """Tell new brokers everything, the others of the new ones, and elect where that helps."""
        context, parts = self._context, self._parts
        for broker_id in new:
            context.replicas_on_offline_dirs.pop(broker_id, None)
        others = [i for i in context.live_or_shutting_down_broker_ids if i not in new]
        parts.send_update_metadata(others, ())
        parts.send_update_metadata(new, context.partitions_with_leaders)
        replicas = context.replicas_on_brokers(new)
        await parts.replica_state_machine.handle_state_changes(replicas, ReplicaState.ONLINE)
        await parts.partition_state_machine.trigger_online_partition_state_change()
        await self._reassignments.maybe_resume(
            lambda _, assignment: any(r in new for r in assignment.replicas)
        )
        await parts.topic_deletion.resume_deletion_for_topics(
            dict.fromkeys(r.topic for r in replicas if parts.topic_deletion.is_queued(r.topic))
        )
        await self._watches.watch_brokers(new)

    async def _on_broker_failure(self, dead: Sequence[int]) -> None:
        for broker_id in dead:
            self._context.replicas_on_offline_dirs.pop(broker_id, None)
            self._context.shutting_down_broker_ids.discard(broker_id)
        await self.on_replicas_become_offline(self._context.replicas_on_brokers(dead))
        self._watches.unwatch_brokers(dead)

    async def on_replicas_become_offline(self, replicas: Sequence[PartitionAndReplica]) -> None:
        """Elect other leaders where these led, and take these out of the ISR."""
        parts = self._parts
        leaderless = self._context.partitions_with_offline_leader
        await parts.partition_state_machine.handle_state_changes(leaderless, PartitionState.OFFLINE)
        await parts.partition_state_machine.trigger_online_partition_state_change()
        deletion = parts.topic_deletion
        await parts.replica_state_machine.handle_state_changes(
            [r for r in replicas if not deletion.is_queued(r.topic)], ReplicaState.OFFLINE
        )
        # A deletion that waits for these would wait for ever.
        await deletion.fail_replica_deletion([r for r in replicas if deletion.is_queued(r.topic)])
        if not leaderless:
            # Elections would have told all brokers; without one they must hear of the loss.
            parts.send_update_metadata_to_all()
