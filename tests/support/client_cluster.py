"""A cluster for tests of the client library: fake brokers on a fake network, all on one clock.

The client under test is whole: its bytes go to `FakeCluster`, which decodes them, answers from a
few dictionaries and sends bytes back. Nothing happens but in `turn` and `advance`.
"""

import struct
from collections import deque
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectError, ConnectionDone
from twisted.internet.testing import MemoryReactorClock, StringTransport
from twisted.python.failure import Failure

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.network.framing import Framer
from kafkalike.protocol.api_keys import ApiKey, request_class
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.header import parse_request_header, response_header_bytes
from kafkalike.protocol.messages import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    api_versions,
    end_txn,
    fetch,
    find_coordinator,
    heartbeat,
    init_producer_id,
    join_group,
    leave_group,
    list_offsets,
    metadata,
    offset_commit,
    offset_fetch,
    produce,
    sync_group,
    txn_offset_commit,
)
from kafkalike.protocol.records.record import Record
from kafkalike.protocol.records.record_batch import iter_batches, set_base_offset_and_epoch
from kafkalike.protocol.records.record_reader import iter_all_records
from kafkalike.protocol.schema import Message

_TURNS = 200


class _Transport(StringTransport):
    """One connection from the client to a broker."""

    def __init__(self, cluster: "FakeCluster", broker_id: int, channel: Any) -> None:
        super().__init__()
        self.broker_id = broker_id
        self.channel = channel
        self.is_open = True
        self._cluster = cluster
        self._framer = Framer(1 << 30)
        self.frames: deque[tuple[float, bytes]] = deque()

    def setTcpNoDelay(self, enabled: bool) -> None:
        """Do as if."""

    def write(self, data: bytes) -> None:
        for buffer, start, end in self._framer.feed(data):
            self.frames.append((self._cluster.reactor.seconds(), buffer[start:end]))

    def lose(self) -> None:
        """End the connection, as the network or either side does."""
        if self.is_open:
            self.is_open = False
            self.channel.connectionLost(Failure(ConnectionDone()))

    abortConnection = lose


class FakeCluster:
    """Brokers 1 to N at ports 9091 and up, leaders as told, logs as the bytes of their batches."""

    def __init__(self, brokers: int = 1) -> None:
        self.reactor: Any = MemoryReactorClock()
        self.addresses = {n: ("127.0.0.1", 9090 + n) for n in range(1, brokers + 1)}
        self.down: set[int] = set()
        self.leaders: dict[TopicPartition, int] = {}
        self.epochs: dict[TopicPartition, int] = {}
        self.logs: dict[TopicPartition, bytearray] = {}
        self.next_offsets: dict[TopicPartition, int] = {}
        self.log_starts: dict[TopicPartition, int] = {}
        self.committed: dict[TopicPartition, int] = {}
        self.coordinator = 1
        self.generation = 0
        self.requests: list[tuple[int, Message]] = []
        self.hold: set[ApiKey] = set()
        self._errors: dict[ApiKey, deque[int]] = {}
        self.connections: list[_Transport] = []
        self._dialled = 0

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{host}:{port}" for host, port in self.addresses.values())

    def add_topic(self, topic: str, *leaders: int) -> None:
        """Add a topic with a partition for each leader (-1: no leader now)."""
        for partition, leader in enumerate(leaders):
            tp = TopicPartition(topic, partition)
            self.leaders[tp] = leader
            self.epochs[tp] = 0
            self.logs.setdefault(tp, bytearray())
            self.next_offsets.setdefault(tp, 0)

    def move(self, tp: TopicPartition, leader: int) -> None:
        """Let another broker lead a partition."""
        self.leaders[tp] = leader
        self.epochs[tp] += 1

    def fail_next(self, key: ApiKey, *codes: int) -> None:
        """Answer the next requests of an API with these errors (0: none)."""
        self._errors.setdefault(key, deque()).extend(codes)

    def stop_broker(self, broker_id: int) -> None:
        """Refuse connections to a broker and end those there are."""
        self.down.add(broker_id)
        for connection in self.connections:
            if connection.broker_id == broker_id:
                connection.lose()

    def records(self, tp: TopicPartition) -> list[Record]:
        """Return what was written to a partition."""
        return list(iter_all_records(bytes(self.logs[tp])))

    def sent(self, kind: type[Message]) -> list[Any]:
        """Return the requests of one kind so far."""
        return [request for _, request in self.requests if isinstance(request, kind)]

    def advance(self, ms: float, step_ms: float = 10) -> None:
        """Let time pass, and all that happens meanwhile."""
        self.turn()
        while ms > 0:
            self.reactor.advance(min(step_ms, ms) / 1000)
            ms -= step_ms
            self.turn()

    def turn(self) -> None:
        """Carry bytes back and forth until nothing moves."""
        for _ in range(_TURNS):
            self.reactor.advance(0)
            if not self._connect_new() and not self._serve_next():
                return
        raise AssertionError(f"still something moves after {_TURNS} turns")

    def finish(self, deferred: "Deferred[Any]", within_ms: float = 120_000) -> Any:
        """Let time pass until a deferred has its result; return or raise that."""
        outcome: list[Any] = []
        deferred.addBoth(outcome.append)
        self.turn()
        passed = 0.0
        while not outcome:
            assert passed < within_ms, "the coroutine still waits for something"
            self.advance(20)
            passed += 20
        if isinstance(outcome[0], Failure):
            outcome[0].raiseException()
        return outcome[0]

    def run(self, coroutine: Any, within_ms: float = 120_000) -> Any:
        """Run a coroutine of the client to its end."""
        return self.finish(Deferred.fromCoroutine(coroutine), within_ms)

    def release(self) -> None:
        """Answer what was held back."""
        self.hold.clear()
        self.turn()

    def _connect_new(self) -> bool:
        if self._dialled == len(self.reactor.tcpClients):
            return False
        host, port, factory, _, _ = self.reactor.tcpClients[self._dialled]
        connector = self.reactor.connectors[self._dialled]
        self._dialled += 1
        broker_id = next((n for n, where in self.addresses.items() if where == (host, port)), 0)
        if broker_id in self.down or not broker_id:
            factory.clientConnectionFailed(connector, Failure(ConnectError()))
            return True
        channel = factory.buildProtocol(None)
        transport = _Transport(self, broker_id, channel)
        self.connections.append(transport)
        channel.makeConnection(transport)
        transport.channel = channel
        return True

    def _serve_next(self) -> bool:
        """Serve one request; those of a connection are served in order, as Kafka does."""
        for connection in self.connections:
            if connection.is_open and connection.frames and self._serve(connection):
                return True
        return False

    def _serve(self, connection: _Transport) -> bool:
        since, frame = connection.frames[0]
        header = parse_request_header(frame)
        key = ApiKey(header.api_key)
        request: Any = request_class(key).decode(frame, header.api_version, header.body_start)
        if key in self.hold or (key is ApiKey.FETCH and self._must_wait(request, since)):
            return False
        connection.frames.popleft()
        self.requests.append((connection.broker_id, request))
        errors = self._errors.get(key)
        code = errors.popleft() if errors else ErrorCode.NONE
        handler: Callable[..., Message] = getattr(self, f"_{key.name.lower()}")
        answer = handler(connection.broker_id, request, code)
        if key is not ApiKey.PRODUCE or request.acks != 0:
            head = response_header_bytes(key, header.api_version, header.correlation_id)
            body = answer.encode(header.api_version)
            connection.channel.dataReceived(struct.pack(">i", len(head + body)) + head + body)
        return True

    def _must_wait(self, request: Any, since: float) -> bool:
        """Whether a fetch finds nothing yet and its time is not up."""
        if self.reactor.seconds() - since >= request.max_wait_ms / 1000:
            return False
        return all(
            self.next_offsets.get(TopicPartition(topic.topic, part.partition)) == part.fetch_offset
            for topic in request.topics
            for part in topic.partitions
        )

    def _api_versions(self, _: int, request: Any, code: int) -> Message:
        keys = [
            api_versions.ApiVersion(api_key=k, min_version=0, max_version=k.max_version)
            for k in ApiKey
        ]
        return api_versions.ApiVersionsResponse(error_code=code, api_keys=keys)

    def _metadata(self, _: int, request: Any, code: int) -> Message:
        asked = None if request.topics is None else [topic.name for topic in request.topics]
        names = sorted({tp.topic for tp in self.leaders}) if asked is None else asked
        return metadata.MetadataResponse(
            brokers=[
                metadata.MetadataResponseBroker(node_id=n, host=host, port=port)
                for n, (host, port) in self.addresses.items()
                if n not in self.down
            ],
            cluster_id="fake",
            controller_id=1,
            topics=[self._described(name, code) for name in names],
        )

    def _described(self, name: str, code: int) -> metadata.MetadataResponseTopic:
        parts = [
            metadata.MetadataResponsePartition(
                error_code=ErrorCode.NONE if leader > 0 else ErrorCode.LEADER_NOT_AVAILABLE,
                partition_index=tp.partition,
                leader_id=leader,
                leader_epoch=self.epochs[tp],
                replica_nodes=list(self.addresses),
                isr_nodes=list(self.addresses),
            )
            for tp, leader in self.leaders.items()
            if tp.topic == name
        ]
        if not parts:
            code = code or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return metadata.MetadataResponseTopic(
            error_code=code, name=name, partitions=parts, is_internal=name.startswith("__")
        )

    def _produce(self, broker_id: int, request: Any, code: int) -> Message:
        answer = produce.ProduceResponse()
        for topic in request.topic_data:
            parts = [
                self._append(TopicPartition(topic.name, part.index), broker_id, part.records, code)
                for part in topic.partition_data
            ]
            answer.responses.append(
                produce.TopicProduceResponse(name=topic.name, partition_responses=parts)
            )
        return answer

    def _append(
        self, tp: TopicPartition, broker_id: int, records: Any, code: int
    ) -> produce.PartitionProduceResponse:
        if not code and self.leaders[tp] != broker_id:
            code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        part = produce.PartitionProduceResponse(index=tp.partition, error_code=code, base_offset=-1)
        if code:
            return part
        data = bytearray(records)
        part.base_offset = self.next_offsets[tp]
        for position, header in iter_batches(data):
            set_base_offset_and_epoch(data, position, self.next_offsets[tp], self.epochs[tp])
            self.next_offsets[tp] += header.record_count
        self.logs[tp] += data
        return part

    def _init_producer_id(self, _: int, request: Any, code: int) -> Message:
        return init_producer_id.InitProducerIdResponse(
            error_code=code, producer_id=-1 if code else 4000, producer_epoch=0
        )

    def _add_partitions_to_txn(self, _: int, request: Any, code: int) -> Message:
        answer = add_partitions_to_txn.AddPartitionsToTxnResponse()
        for topic in request.topics:
            parts = [
                add_partitions_to_txn.AddPartitionsToTxnPartitionResult(
                    partition_index=partition, error_code=code
                )
                for partition in topic.partitions
            ]
            answer.results.append(
                add_partitions_to_txn.AddPartitionsToTxnTopicResult(name=topic.name, results=parts)
            )
        return answer

    def _add_offsets_to_txn(self, _: int, request: Any, code: int) -> Message:
        return add_offsets_to_txn.AddOffsetsToTxnResponse(error_code=code)

    def _txn_offset_commit(self, _: int, request: Any, code: int) -> Message:
        answer = txn_offset_commit.TxnOffsetCommitResponse()
        for topic in request.topics:
            done = txn_offset_commit.TxnOffsetCommitResponseTopic(name=topic.name)
            for part in topic.partitions:
                tp = TopicPartition(topic.name, part.partition_index)
                self.committed[tp] = part.committed_offset
                done.partitions.append(
                    txn_offset_commit.TxnOffsetCommitResponsePartition(
                        partition_index=part.partition_index, error_code=code
                    )
                )
            answer.topics.append(done)
        return answer

    def _end_txn(self, _: int, request: Any, code: int) -> Message:
        return end_txn.EndTxnResponse(error_code=code)

    def _fetch(self, broker_id: int, request: Any, code: int) -> Message:
        answer = fetch.FetchResponse()
        for topic in request.topics:
            parts = [
                self._read(TopicPartition(topic.topic, part.partition), broker_id, part, code)
                for part in topic.partitions
            ]
            answer.responses.append(
                fetch.FetchableTopicResponse(topic=topic.topic, partition_responses=parts)
            )
        return answer

    def _read(
        self, tp: TopicPartition, broker_id: int, asked: Any, code: int
    ) -> fetch.FetchablePartitionResponse:
        end = self.next_offsets.get(tp, 0)
        if not code and self.leaders.get(tp) != broker_id:
            code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        if not code and not self.log_starts.get(tp, 0) <= asked.fetch_offset <= end:
            code = ErrorCode.OFFSET_OUT_OF_RANGE
        data = bytes(self.logs.get(tp, b""))
        batches = [(p, h) for p, h in iter_batches(data) if h.last_offset >= asked.fetch_offset]
        return fetch.FetchablePartitionResponse(
            partition=tp.partition,
            error_code=code,
            high_watermark=end,
            last_stable_offset=end,
            record_set=data[batches[0][0] :] if batches and not code else b"",
        )

    def _list_offsets(self, broker_id: int, request: Any, code: int) -> Message:
        answer = list_offsets.ListOffsetsResponse()
        for topic in request.topics:
            parts = []
            for part in topic.partitions:
                tp = TopicPartition(topic.name, part.partition_index)
                is_wrong = self.leaders[tp] != broker_id
                parts.append(
                    list_offsets.ListOffsetsPartitionResponse(
                        partition_index=tp.partition,
                        error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER if is_wrong else code,
                        offset=self._offset_at(tp, part.timestamp),
                    )
                )
            answer.topics.append(
                list_offsets.ListOffsetsTopicResponse(name=topic.name, partitions=parts)
            )
        return answer

    def _offset_at(self, tp: TopicPartition, time: int) -> int:
        if time == -1:
            return self.next_offsets[tp]
        if time == -2:
            return self.log_starts.get(tp, 0)
        return next((r.offset for r in self.records(tp) if r.timestamp >= time), -1)

    def _find_coordinator(self, _: int, request: Any, code: int) -> Message:
        host, port = self.addresses[self.coordinator]
        return find_coordinator.FindCoordinatorResponse(
            error_code=code, node_id=self.coordinator, host=host, port=port
        )

    def _join_group(self, broker_id: int, request: Any, code: int) -> Message:
        if not code and broker_id != self.coordinator:
            code = ErrorCode.NOT_COORDINATOR
        if not code and not request.member_id:
            return join_group.JoinGroupResponse(
                error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="member-1", protocol_name=""
            )
        self.generation += not code
        protocol = request.protocols[0]
        member = join_group.JoinGroupResponseMember(
            member_id=request.member_id, metadata=protocol.metadata
        )
        return join_group.JoinGroupResponse(
            error_code=code,
            generation_id=self.generation,
            protocol_name=protocol.name,
            leader=request.member_id,
            member_id=request.member_id,
            members=[] if code else [member],
        )

    def _sync_group(self, _: int, request: Any, code: int) -> Message:
        assignment = b"" if code else bytes(request.assignments[0].assignment)
        return sync_group.SyncGroupResponse(error_code=code, assignment=assignment)

    def _heartbeat(self, _: int, request: Any, code: int) -> Message:
        return heartbeat.HeartbeatResponse(error_code=code)

    def _leave_group(self, _: int, request: Any, code: int) -> Message:
        return leave_group.LeaveGroupResponse(error_code=code)

    def _offset_commit(self, _: int, request: Any, code: int) -> Message:
        answer = offset_commit.OffsetCommitResponse()
        for topic in request.topics:
            done = offset_commit.OffsetCommitResponseTopic(name=topic.name)
            for part in topic.partitions:
                if not code:
                    tp = TopicPartition(topic.name, part.partition_index)
                    self.committed[tp] = part.committed_offset
                done.partitions.append(
                    offset_commit.OffsetCommitResponsePartition(
                        partition_index=part.partition_index, error_code=code
                    )
                )
            answer.topics.append(done)
        return answer

    def _offset_fetch(self, _: int, request: Any, code: int) -> Message:
        answer = offset_fetch.OffsetFetchResponse(error_code=code)
        for topic in request.topics or ():
            found = offset_fetch.OffsetFetchResponseTopic(name=topic.name)
            for index in topic.partition_indexes:
                found.partitions.append(
                    offset_fetch.OffsetFetchResponsePartition(
                        partition_index=index,
                        committed_offset=self.committed.get(TopicPartition(topic.name, index), -1),
                        metadata="",
                    )
                )
            answer.topics.append(found)
        return answer
