"""Which subject handles which event, while this broker is the controller."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Self

from twisted.logger import Logger

from kafkalike.controller import events
from kafkalike.controller.broker_changes import BrokerChanges
from kafkalike.controller.controlled_shutdown import controlled_shutdown
from kafkalike.controller.events import ControllerEvent
from kafkalike.controller.features import FeatureVersions, VersionRange
from kafkalike.controller.isr_changes import IsrChanges
from kafkalike.controller.leader_elections import LeaderElections
from kafkalike.controller.parts import ControllerParts
from kafkalike.controller.reassignment import PartitionReassignments
from kafkalike.controller.states import PartitionAndReplica
from kafkalike.controller.topic_changes import TopicChanges
from kafkalike.protocol.errors import ErrorCode

log = Logger(namespace="state.change")


@dataclass(frozen=True, slots=True, kw_only=True)
class EventHandlers:
    """The subjects; `handle` finds the one for an event."""

    parts: ControllerParts
    topics: TopicChanges
    brokers: BrokerChanges
    reassignments: PartitionReassignments
    elections: LeaderElections
    isrs: IsrChanges
    features: FeatureVersions

    @classmethod
    def build(
        cls,
        parts: ControllerParts,
        new_topic_id: Callable[[], bytes],
        supported_features: Mapping[str, VersionRange],
    ) -> Self:
        """Wire the subjects of a controller."""
        features = FeatureVersions(parts, supported_features)
        reassignments = PartitionReassignments(parts)
        return cls(
            parts=parts,
            topics=TopicChanges(parts, reassignments, new_topic_id),
            brokers=BrokerChanges(parts, reassignments, features),
            reassignments=reassignments,
            elections=LeaderElections(parts),
            isrs=IsrChanges(parts, reassignments),
            features=features,
        )

    async def handle(self, event: ControllerEvent) -> None:
        """Do what an event calls for."""
        simple = self._simple_handlers().get(type(event))
        if simple is not None:
            await simple()
        elif isinstance(event, events.Ask):
            await self._handle_ask(event)
        else:
            await self._handle_news(event)

    def _simple_handlers(self) -> dict[type[ControllerEvent], Callable[[], Awaitable[object]]]:
        partitions = self.parts.partition_state_machine
        return {
            events.BrokerChange: self.brokers.process_broker_change,
            events.TopicChange: self.topics.process_topic_change,
            events.TopicDeletion: self.topics.process_topic_deletion,
            events.LogDirEventNotification: self.brokers.process_log_dir_event,
            events.IsrChangeNotification: self.isrs.process_isr_change_notification,
            events.ZkPartitionReassignment: self.reassignments.process_zk_reassignment,
            events.ZkPreferredReplicaElection: self.elections.process_zk_election,
            events.AutoPreferredReplicaLeaderElection: self.elections.process_auto_election,
            events.UncleanLeaderElectionEnable: partitions.trigger_online_partition_state_change,
        }

    async def _handle_news(self, event: ControllerEvent) -> None:
        match event:
            case events.BrokerModifications(broker_id):
                await self.brokers.process_broker_modifications(broker_id)
            case events.PartitionModifications(topic):
                await self.topics.process_partition_modifications(topic)
            case events.PartitionReassignmentIsrChange(tp):
                await self.reassignments.maybe_complete(tp)
            case events.TopicUncleanLeaderElectionEnable(topic):
                machine = self.parts.partition_state_machine
                await machine.trigger_online_partition_state_change(topic)
            case events.LeaderAndIsrResponseReceived(response, broker_id):
                await self.brokers.process_leader_and_isr_response(response, broker_id)
            case events.UpdateMetadataResponseReceived():
                _note_update_metadata_response(event)
            case events.TopicDeletionStopReplicaResponseReceived():
                await self._process_deletion_response(event)
            case _:
                raise TypeError(f"nobody handles {event}")

    async def _handle_ask(self, event: ControllerEvent) -> None:
        match event:
            case events.AlterIsrReceived():
                await self.isrs.process_alter_isr(event)
            case events.ControlledShutdown():
                event.answer(
                    await controlled_shutdown(self.parts, event.broker_id, event.broker_epoch)
                )
            case events.ReplicaLeaderElection():
                event.answer(
                    await self.elections.process_election(event.partitions, event.election_type)
                )
            case events.ApiPartitionReassignment():
                event.answer(await self.reassignments.process_api_reassignment(event.reassignments))
            case events.ListPartitionReassignments():
                event.answer(self.reassignments.list(event.partitions))
            case events.UpdateFeatures():
                event.answer(await self.features.update(event.request))
            case _:
                raise TypeError(f"nobody handles {event}")

    async def _process_deletion_response(
        self, event: events.TopicDeletionStopReplicaResponseReceived
    ) -> None:
        failed: list[PartitionAndReplica] = []
        deleted: list[PartitionAndReplica] = []
        for tp, code in event.partition_errors.items():
            is_deleted = ErrorCode.NONE == event.request_error == code
            replica = PartitionAndReplica(tp, event.broker_id)
            (deleted if is_deleted else failed).append(replica)
        await self.parts.topic_deletion.fail_replica_deletion(failed)
        if deleted:
            await self.parts.topic_deletion.complete_replica_deletion(deleted)


def _note_update_metadata_response(event: events.UpdateMetadataResponseReceived) -> None:
    if event.response.error_code != ErrorCode.NONE:
        log.error(
            "broker {broker} answered UpdateMetadata with error {code}",
            broker=event.broker_id,
            code=event.response.error_code,
        )
