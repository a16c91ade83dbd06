"""Gathers what brokers must be told during one change of state, and hands it over per broker.

Part of Kafka's `ControllerBrokerRequestBatch`. A broker that is told of one partition twice hears
the last word only. Order per broker: LeaderAndIsr, UpdateMetadata, StopReplica.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from twisted.logger import Logger

from kafkalike.config.api_version import ApiVersion
from kafkalike.controller.context import ControllerContext
from kafkalike.controller.control_requests import (
    Header,
    leader_and_isr_request,
    leader_and_isr_version,
    stop_replica_requests,
    stop_replica_version,
    update_metadata_request,
    update_metadata_version,
)
from kafkalike.controller.events import (
    ControllerEvent,
    LeaderAndIsrResponseReceived,
    TopicDeletionStopReplicaResponseReceived,
    UpdateMetadataResponseReceived,
)
from kafkalike.model.leader_and_isr import (
    LEADER_DURING_DELETE,
    LeaderAndIsr,
    LeaderIsrAndControllerEpoch,
)
from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.messages.leader_and_isr import LeaderAndIsrPartitionState
from kafkalike.protocol.messages.stop_replica import StopReplicaPartitionState, StopReplicaResponse
from kafkalike.protocol.messages.update_metadata import UpdateMetadataPartitionState

log = Logger(namespace="state.change")

NO_EPOCH = -1
EPOCH_DURING_DELETE = -2

# Broker, request, version, and what to do with the answer. Any: the answer's class depends on the
# request's.
SendRequest: TypeAlias = Callable[[int, Any, int, Callable[[Any], None]], None]


class BatchNotEmptyError(Exception):
    """A batch was begun while the one before it was never sent: state changes might be lost."""


class ControllerBrokerRequestBatch:
    """One batch at a time: `new_batch`, some `add_*`, `send_requests_to_brokers`."""

    def __init__(
        self,
        controller_id: int,
        context: ControllerContext,
        protocol: ApiVersion,
        inter_broker_listener: str,
        send_request: SendRequest,
        put_event: Callable[[ControllerEvent], None],
    ) -> None:
        self._controller_id = controller_id
        self._context = context
        self._inter_broker_listener = inter_broker_listener
        self._send_request = send_request
        self._put_event = put_event
        self._leader_and_isr_version = leader_and_isr_version(protocol)
        self._update_metadata_version = update_metadata_version(protocol)
        self._stop_replica_version = stop_replica_version(protocol)
        self._leader_and_isr: dict[int, dict[TopicPartition, LeaderAndIsrPartitionState]] = {}
        self._stop_replica: dict[int, dict[TopicPartition, StopReplicaPartitionState]] = {}
        self._update_metadata: dict[TopicPartition, UpdateMetadataPartitionState] = {}
        self._update_metadata_brokers: dict[int, None] = {}

    def new_batch(self) -> None:
        """Begin a batch; the one before must have been sent."""
        if self._leader_and_isr or self._stop_replica or self._update_metadata_brokers:
            raise BatchNotEmptyError(
                f"{len(self._leader_and_isr)} LeaderAndIsr, {len(self._stop_replica)} StopReplica "
                f"and {len(self._update_metadata_brokers)} UpdateMetadata requests were not sent"
            )

    def clear(self) -> None:
        """Forget what was gathered."""
        self._leader_and_isr.clear()
        self._stop_replica.clear()
        self._update_metadata.clear()
        self._update_metadata_brokers.clear()

    def add_leader_and_isr_request_for_brokers(
        self,
        broker_ids: Iterable[int],
        tp: TopicPartition,
        state: LeaderIsrAndControllerEpoch,
        assignment: ReplicaAssignment,
        *,
        is_new: bool,
    ) -> None:
        """Tell replicas who leads a partition, and every broker of the partition's new state."""
        for broker_id in broker_ids:
            if broker_id < 0:
                continue
            gathered = self._leader_and_isr.setdefault(broker_id, {})
            was_new = tp in gathered and gathered[tp].is_new
            gathered[tp] = _leader_and_isr_state(tp, state, assignment, is_new or was_new)
        self.add_update_metadata_request_for_brokers(
            self._context.live_or_shutting_down_broker_ids, [tp]
        )

    def add_stop_replica_request_for_brokers(
        self, broker_ids: Iterable[int], tp: TopicPartition, *, delete_partition: bool
    ) -> None:
        """Tell brokers to stop a replica, and perhaps to delete its data."""
        for broker_id in broker_ids:
            if broker_id < 0:
                continue
            gathered = self._stop_replica.setdefault(broker_id, {})
            was_delete = tp in gathered and gathered[tp].delete_partition
            gathered[tp] = StopReplicaPartitionState(
                partition_index=tp.partition,
                leader_epoch=self._epoch_to_stop(tp),
                delete_partition=was_delete or delete_partition,
            )

    def add_update_metadata_request_for_brokers(
        self, broker_ids: Iterable[int], partitions: Iterable[TopicPartition]
    ) -> None:
        """Tell brokers of all live brokers, and of the state of these partitions."""
        self._update_metadata_brokers.update(dict.fromkeys(b for b in broker_ids if b >= 0))
        for tp in partitions:
            known = self._context.leadership.get(tp)
            if known is not None:
                self._update_metadata[tp] = self._update_metadata_state(tp, known)

    def send_requests_to_brokers(self, controller_epoch: int) -> None:
        """Hand over what was gathered, to those brokers that are alive."""
        self._send_leader_and_isr(controller_epoch)
        self._send_update_metadata(controller_epoch)
        self._send_stop_replica(controller_epoch)

    def send_update_metadata(
        self, broker_ids: Iterable[int], partitions: Iterable[TopicPartition]
    ) -> None:
        """Send a batch of nothing but UpdateMetadata."""
        self.new_batch()
        self.add_update_metadata_request_for_brokers(broker_ids, partitions)
        self.send_requests_to_brokers(self._context.epoch)

    def _epoch_to_stop(self, tp: TopicPartition) -> int:
        if self._context.is_topic_queued_for_deletion(tp.topic):
            return EPOCH_DURING_DELETE
        known = self._context.leadership.get(tp)
        return NO_EPOCH if known is None else known.leader_and_isr.leader_epoch

    def _update_metadata_state(
        self, tp: TopicPartition, known: LeaderIsrAndControllerEpoch
    ) -> UpdateMetadataPartitionState:
        replicas = self._context.replicas(tp)
        leader_and_isr = known.leader_and_isr
        if self._context.is_topic_queued_for_deletion(tp.topic):
            leader_and_isr = LeaderAndIsr(LEADER_DURING_DELETE, 0, leader_and_isr.isr)
        return UpdateMetadataPartitionState(
            topic_name=tp.topic,
            partition_index=tp.partition,
            controller_epoch=known.controller_epoch,
            leader=leader_and_isr.leader,
            leader_epoch=leader_and_isr.leader_epoch,
            isr=leader_and_isr.isr,
            zk_version=leader_and_isr.zk_version,
            replicas=replicas,
            offline_replicas=[r for r in replicas if not self._context.is_replica_online(r, tp)],
        )

    def _header(self, broker_id: int, controller_epoch: int) -> Header:
        broker_epoch = self._context.broker_epochs[broker_id]
        return Header(self._controller_id, controller_epoch, broker_epoch)

    def _send_leader_and_isr(self, controller_epoch: int) -> None:
        gathered, self._leader_and_isr = self._leader_and_isr, {}
        version = self._leader_and_isr_version
        for broker_id, states in gathered.items():
            if broker_id not in self._context.broker_epochs:
                continue
            leader_ids = {state.leader for state in states.values()}
            nodes = (
                broker.node(self._inter_broker_listener)
                for broker in self._context.live_or_shutting_down_brokers
                if broker.id in leader_ids
            )
            leaders = [node for node in nodes if node is not None]
            header = self._header(broker_id, controller_epoch)
            ids = self._context.topic_ids
            request = leader_and_isr_request(version, states, ids, leaders, header)
            log.info(
                "LeaderAndIsr to broker {broker}: leads {leads} of {count} partitions",
                broker=broker_id,
                leads=sum(state.leader == broker_id for state in states.values()),
                count=len(states),
            )
            self._send_request(broker_id, request, version, self._leader_and_isr_answer(broker_id))

    def _leader_and_isr_answer(self, broker_id: int) -> Callable[[Any], None]:
        return lambda answer: self._put_event(LeaderAndIsrResponseReceived(answer, broker_id))

    def _send_update_metadata(self, controller_epoch: int) -> None:
        states, self._update_metadata = self._update_metadata, {}
        broker_ids, self._update_metadata_brokers = self._update_metadata_brokers, {}
        version = self._update_metadata_version
        brokers = self._context.live_or_shutting_down_brokers
        for broker_id in broker_ids:
            if broker_id not in self._context.broker_epochs:
                continue
            header = self._header(broker_id, controller_epoch)
            ids = self._context.topic_ids
            request = update_metadata_request(version, states, ids, brokers, header)
            self._send_request(broker_id, request, version, self._metadata_answer(broker_id))

    def _metadata_answer(self, broker_id: int) -> Callable[[Any], None]:
        return lambda answer: self._put_event(UpdateMetadataResponseReceived(answer, broker_id))

    def _send_stop_replica(self, controller_epoch: int) -> None:
        gathered, self._stop_replica = self._stop_replica, {}
        version = self._stop_replica_version
        for broker_id, states in gathered.items():
            if broker_id not in self._context.broker_epochs:
                continue
            deleted = frozenset(tp for tp, state in states.items() if state.delete_partition)
            header = self._header(broker_id, controller_epoch)
            for request in stop_replica_requests(version, states, header):
                answer = self._stop_replica_answer(broker_id, deleted)
                self._send_request(broker_id, request, version, answer)

    def _stop_replica_answer(
        self, broker_id: int, deleted: frozenset[TopicPartition]
    ) -> Callable[[StopReplicaResponse], None]:
        """Tell the controller how deletions went; nobody waits for other stops."""

        def on_answer(response: StopReplicaResponse) -> None:
            answered = {
                TopicPartition(error.topic_name, error.partition_index): error.error_code
                for error in response.partition_errors
            }
            errors = {
                tp: code
                for tp, code in answered.items()
                if tp in deleted and tp.topic in self._context.topics_with_deletion_started
            }
            if errors:
                self._put_event(
                    TopicDeletionStopReplicaResponseReceived(broker_id, response.error_code, errors)
                )

        return on_answer


def _leader_and_isr_state(
    tp: TopicPartition,
    state: LeaderIsrAndControllerEpoch,
    assignment: ReplicaAssignment,
    is_new: bool,
) -> LeaderAndIsrPartitionState:
    leader_and_isr = state.leader_and_isr
    return LeaderAndIsrPartitionState(
        topic_name=tp.topic,
        partition_index=tp.partition,
        controller_epoch=state.controller_epoch,
        leader=leader_and_isr.leader,
        leader_epoch=leader_and_isr.leader_epoch,
        isr=leader_and_isr.isr,
        zk_version=leader_and_isr.zk_version,
        replicas=assignment.replicas,
        adding_replicas=assignment.adding_replicas,
        removing_replicas=assignment.removing_replicas,
        is_new=is_new,
    )
