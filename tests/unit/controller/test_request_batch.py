"""What brokers are told: byte for byte what Kafka's controller sends, in every protocol version."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalike.config.api_version import api_version
from kafkalike.config.listeners import SECURITY_PROTOCOLS
from kafkalike.controller.context import ControllerContext
from kafkalike.controller.events import (
    ControllerEvent,
    TopicDeletionStopReplicaResponseReceived,
)
from kafkalike.controller.request_batch import BatchNotEmptyError, ControllerBrokerRequestBatch
from kafkalike.model.broker import Broker, EndPoint
from kafkalike.model.leader_and_isr import (
    LEADER_DURING_DELETE,
    LeaderAndIsr,
    LeaderIsrAndControllerEpoch,
)
from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.header import parse_request_header
from kafkalike.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafkalike.protocol.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)
from kafkalike.protocol.messages.update_metadata import UpdateMetadataRequest

WIRE = Path(__file__).parents[2] / "golden" / "wire"
TP = TopicPartition("t", 0)
STATE = LeaderIsrAndControllerEpoch(LeaderAndIsr(1, 4, (1, 2), 7), 3)


class Batch:
    """A batch with its context, and what came out of it."""

    def __init__(self, protocol: str = "2.8", controller_id: int = 1) -> None:
        self.context = ControllerContext()
        self.sent: list[tuple[int, Any, int, Any]] = []
        self.events: list[ControllerEvent] = []
        self.batch = ControllerBrokerRequestBatch(
            controller_id,
            self.context,
            api_version(protocol),
            "PLAINTEXT",
            lambda *request: self.sent.append(request),
            self.events.append,
        )

    def lives(self, *broker_ids: int) -> None:
        end_points = (EndPoint("h", 9092, "PLAINTEXT", "PLAINTEXT"),)
        self.context.set_live_brokers({Broker(i, end_points): 100 + i for i in broker_ids})

    def add_leader_and_isr(self, *broker_ids: int, is_new: bool = False) -> None:
        self.context.leadership[TP] = STATE
        self.context.update_assignment(TP, ReplicaAssignment((1, 2)))
        assignment = self.context.assignment(TP)
        self.batch.add_leader_and_isr_request_for_brokers(
            broker_ids, TP, STATE, assignment, is_new=is_new
        )

    def kinds(self) -> list[tuple[int, str, int]]:
        return [(b, type(request).__name__, version) for b, request, version, _ in self.sent]


def _frames(api_name: str) -> Iterator[Any]:
    for name, protocol in (("broker", "2.8"), ("broker-ibp2.6", "2.6")):
        for line in (WIRE / f"{name}.jsonl").read_text().splitlines():
            frame = json.loads(line)
            if (frame["api_name"], frame["direction"]) == (api_name, "request"):
                label = f"{name}-v{frame['version']}-to-{frame['target']}-{frame['corr']}"
                yield pytest.param(frame, protocol, id=label)


def _decoded(frame: dict[str, Any], kind: Any) -> tuple[Any, bytes]:
    """Give the request and its bytes without the header."""
    buffer = bytes.fromhex(frame["hex"])
    body = buffer[parse_request_header(buffer).body_start :]
    return kind.decode(body, frame["version"]), body


def _broker(
    broker_id: int, end_points: tuple[EndPoint, ...] = (), rack: str | None = None
) -> Broker:
    return Broker(broker_id, end_points, rack)


@pytest.mark.parametrize(("frame", "protocol"), list(_frames("LeaderAndIsr")))
def test_leader_and_isr_is_kafkas(frame: dict[str, Any], protocol: str) -> None:
    golden, body = _decoded(frame, LeaderAndIsrRequest)
    batch = Batch(protocol, golden.controller_id)
    receiver = frame["target"] % 100
    brokers = {
        _broker(
            leader.broker_id,
            (EndPoint(leader.host_name, leader.port, "PLAINTEXT", "PLAINTEXT"),),
        ): golden.broker_epoch
        for leader in golden.live_leaders
    }
    if receiver not in {broker.id for broker in brokers}:
        brokers[_broker(receiver)] = golden.broker_epoch
    batch.context.set_live_brokers(brokers)
    for topic in golden.topic_states:
        batch.context.topic_ids[topic.topic_name] = topic.topic_id
        for state in topic.partition_states:
            leader_and_isr = LeaderAndIsr(
                state.leader, state.leader_epoch, tuple(state.isr), state.zk_version
            )
            assignment = ReplicaAssignment(
                tuple(state.replicas), tuple(state.adding_replicas), tuple(state.removing_replicas)
            )
            batch.batch.add_leader_and_isr_request_for_brokers(
                [receiver],
                TopicPartition(topic.topic_name, state.partition_index),
                LeaderIsrAndControllerEpoch(leader_and_isr, state.controller_epoch),
                assignment,
                is_new=state.is_new,
            )
    batch.batch.send_requests_to_brokers(golden.controller_epoch)
    broker_id, request, version, _ = batch.sent[0]
    assert (broker_id, version) == (receiver, frame["version"])
    assert request.encode(version) == body


@pytest.mark.parametrize(("frame", "protocol"), list(_frames("UpdateMetadata")))
def test_update_metadata_is_kafkas(frame: dict[str, Any], protocol: str) -> None:
    golden, body = _decoded(frame, UpdateMetadataRequest)
    batch = Batch(protocol, golden.controller_id)
    context = batch.context
    context.set_live_brokers(
        {
            _broker(
                broker.id,
                tuple(
                    EndPoint(e.host, e.port, e.listener, SECURITY_PROTOCOLS[e.security_protocol])
                    for e in broker.endpoints
                ),
                broker.rack,
            ): golden.broker_epoch
            for broker in golden.live_brokers
        }
    )
    partitions = []
    for topic in golden.topic_states:
        context.topic_ids[topic.topic_name] = topic.topic_id
        for state in topic.partition_states:
            tp = TopicPartition(topic.topic_name, state.partition_index)
            partitions.append(tp)
            context.update_assignment(tp, ReplicaAssignment(tuple(state.replicas)))
            for replica in state.offline_replicas:
                context.replicas_on_offline_dirs.setdefault(replica, set()).add(tp)
            if state.leader == LEADER_DURING_DELETE:
                context.topics_to_be_deleted[tp.topic] = None
            known = LeaderAndIsr(
                state.leader, state.leader_epoch, tuple(state.isr), state.zk_version
            )
            context.leadership[tp] = LeaderIsrAndControllerEpoch(known, state.controller_epoch)
    receiver = frame["target"] % 100
    batch.batch.add_update_metadata_request_for_brokers([receiver], partitions)
    batch.batch.send_requests_to_brokers(golden.controller_epoch)
    ((broker_id, request, version, _),) = batch.sent
    assert (broker_id, version) == (receiver, frame["version"])
    assert request.encode(version) == body


@pytest.mark.parametrize(("frame", "protocol"), list(_frames("StopReplica")))
def test_stop_replica_is_kafkas(frame: dict[str, Any], protocol: str) -> None:
    golden, body = _decoded(frame, StopReplicaRequest)
    batch = Batch(protocol, golden.controller_id)
    receiver = frame["target"] % 100
    batch.context.set_live_brokers({_broker(receiver): golden.broker_epoch})
    for topic in golden.topic_states:
        for state in topic.partition_states:
            tp = TopicPartition(topic.topic_name, state.partition_index)
            if state.leader_epoch == -2:
                batch.context.topics_to_be_deleted[tp.topic] = None
            else:
                known = LeaderAndIsr(1, state.leader_epoch, (1,))
                batch.context.leadership[tp] = LeaderIsrAndControllerEpoch(known, 1)
            batch.batch.add_stop_replica_request_for_brokers(
                [receiver], tp, delete_partition=state.delete_partition
            )
    batch.batch.send_requests_to_brokers(golden.controller_epoch)
    ((broker_id, request, version, _),) = batch.sent
    assert (broker_id, version) == (receiver, frame["version"])
    assert request.encode(version) == body


@pytest.mark.parametrize(
    ("protocol", "leader_and_isr", "update_metadata", "stop_replica"),
    [
        ("0.8.2", 0, 0, 0),
        ("0.9.0", 0, 1, 0),
        ("0.10.0", 0, 2, 0),
        ("0.10.2", 0, 3, 0),
        ("1.0", 1, 4, 0),
        ("2.1", 1, 4, 0),
        ("2.2", 2, 5, 1),
        ("2.4-IV0", 3, 5, 1),
        ("2.4", 4, 6, 2),
        ("2.6", 4, 6, 3),
        ("2.8-IV0", 4, 6, 3),
        ("2.8", 5, 7, 3),
    ],
)
def test_older_protocols_get_older_versions(
    protocol: str, leader_and_isr: int, update_metadata: int, stop_replica: int
) -> None:
    batch = Batch(protocol)
    batch.lives(1, 2)
    batch.add_leader_and_isr(2)
    batch.batch.add_stop_replica_request_for_brokers([2], TP, delete_partition=True)
    batch.batch.send_requests_to_brokers(3)
    versions = {name: version for broker, name, version in batch.kinds() if broker == 2}
    assert versions == {
        "LeaderAndIsrRequest": leader_and_isr,
        "UpdateMetadataRequest": update_metadata,
        "StopReplicaRequest": stop_replica,
    }
    for _, request, version, _ in batch.sent:
        again = type(request).decode(request.encode(version), version)
        assert again.controller_epoch == 3
        assert _partitions_in(again) == {("t", 0)}


def _partitions_in(request: Any) -> set[tuple[str, int]]:
    """The partitions of a request of any kind and version."""
    found = set()
    for ungrouped in ("ungrouped_partition_states", "ungrouped_partitions"):
        found |= {(s.topic_name, s.partition_index) for s in getattr(request, ungrouped, ())}
    for topic in getattr(request, "topics", ()):
        found |= {(topic.name, index) for index in topic.partition_indexes}
    for topic in request.topic_states:
        found |= {(topic.topic_name, state.partition_index) for state in topic.partition_states}
    return found


def test_broker_hears_of_leaders_before_metadata_and_of_stops_last() -> None:
    batch = Batch()
    batch.lives(1, 2)
    batch.batch.add_stop_replica_request_for_brokers([2], TP, delete_partition=False)
    batch.add_leader_and_isr(2)
    batch.batch.send_requests_to_brokers(3)
    assert [name for broker, name, _ in batch.kinds() if broker == 2] == [
        "LeaderAndIsrRequest",
        "UpdateMetadataRequest",
        "StopReplicaRequest",
    ]


def test_brokers_that_are_not_alive_are_not_asked() -> None:
    batch = Batch()
    batch.lives(1)
    batch.add_leader_and_isr(1, 2, -1)
    batch.batch.add_stop_replica_request_for_brokers([2, -1], TP, delete_partition=False)
    batch.batch.send_requests_to_brokers(3)
    assert {broker for broker, _, _ in batch.kinds()} == {1}


def test_last_word_counts_but_new_and_delete_stay() -> None:
    batch = Batch()
    batch.lives(1, 2)
    batch.add_leader_and_isr(2, is_new=True)
    batch.add_leader_and_isr(2, is_new=False)
    batch.batch.add_stop_replica_request_for_brokers([2], TP, delete_partition=True)
    batch.batch.add_stop_replica_request_for_brokers([2], TP, delete_partition=False)
    batch.batch.send_requests_to_brokers(3)
    leader_and_isr = batch.sent[0][1]
    stop_replica = batch.sent[-1][1]
    assert leader_and_isr.topic_states[0].partition_states[0].is_new
    assert len(stop_replica.topic_states[0].partition_states) == 1
    assert stop_replica.topic_states[0].partition_states[0].delete_partition


def test_batch_that_was_not_sent_is_noticed() -> None:
    batch = Batch()
    batch.lives(1)
    batch.batch.new_batch()
    batch.add_leader_and_isr(1)
    with pytest.raises(BatchNotEmptyError, match="1 LeaderAndIsr"):
        batch.batch.new_batch()
    batch.batch.clear()
    batch.batch.new_batch()
    batch.batch.send_requests_to_brokers(3)
    assert not batch.sent


def test_answers_to_deletions_of_topics_are_events_and_others_are_not() -> None:
    batch = Batch()
    batch.lives(1, 2)
    batch.batch.add_stop_replica_request_for_brokers([2], TP, delete_partition=True)
    batch.batch.send_requests_to_brokers(3)
    on_answer = batch.sent[-1][3]
    error = StopReplicaPartitionError(topic_name="t", partition_index=0, error_code=56)
    on_answer(StopReplicaResponse(partition_errors=[error]))
    assert not batch.events  # a reassignment stopped it: nobody waits
    batch.context.topics_with_deletion_started.add("t")
    on_answer(StopReplicaResponse(partition_errors=[error]))
    (event,) = batch.events
    assert isinstance(event, TopicDeletionStopReplicaResponseReceived)
    assert (event.broker_id, event.request_error, dict(event.partition_errors)) == (2, 0, {TP: 56})
