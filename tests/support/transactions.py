"""Transactions in tests: metadata in any state, a store over real logs, scripted brokers."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from kafkalike.cluster.metadata_cache import MetadataCache, PartitionMetadata
from kafkalike.config.broker_config import BrokerConfig
from kafkalike.coordinator.transaction.marker_channel_manager import MarkerChannelManager
from kafkalike.coordinator.transaction.producer_ids import ProducerIdManager
from kafkalike.coordinator.transaction.transaction_coordinator import TransactionCoordinator
from kafkalike.coordinator.transaction.transaction_metadata import (
    TransactionMetadata,
    TxnTransitMetadata,
)
from kafkalike.coordinator.transaction.transaction_records import read_record
from kafkalike.coordinator.transaction.transaction_state import TransactionState
from kafkalike.coordinator.transaction.transaction_store import TransactionStore
from kafkalike.coordinator.transaction.transactional_id_expiry import TransactionalIdExpiry
from kafkalike.log.append_origin import AppendOrigin
from kafkalike.log.log import Log
from kafkalike.model.broker import Broker, EndPoint
from kafkalike.model.topic import TRANSACTION_STATE_TOPIC
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode, KafkaError
from kafkalike.protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kafkalike.replication.delayed_produce import ProduceStatus
from kafkalike.utils.time import Time
from kafkalike.zk.znodes import ProducerIdBlock
from tests.support.log_builder import NOW_MS, open_log, records_of, run_at_once

TXN_ID = "a-transaction"
PARTITION = TopicPartition("topic", 0)
OTHER_PARTITION = TopicPartition("topic", 1)
TIMEOUT_MS = 60_000


def a_transaction(
    state: TransactionState = TransactionState.EMPTY,
    *,
    transactional_id: str = TXN_ID,
    pending: TransactionState | None = None,
    now_ms: int = NOW_MS,
    **fields: Any,
) -> TransactionMetadata:
    """Make a transactional id of producer 7, epoch 3, in this state; `fields` win."""
    has_partitions = state in (
        TransactionState.ONGOING,
        TransactionState.PREPARE_COMMIT,
        TransactionState.PREPARE_ABORT,
    )
    current = TxnTransitMetadata(
        producer_id=7,
        producer_epoch=3,
        txn_timeout_ms=TIMEOUT_MS,
        txn_state=state,
        topic_partitions=frozenset({PARTITION}) if has_partitions else frozenset(),
        txn_start_timestamp=-1 if state is TransactionState.EMPTY else now_ms,
        txn_last_update_timestamp=now_ms,
    )
    metadata = TransactionMetadata(transactional_id, replace(current, **fields))
    metadata.pending_state = pending
    return metadata


class FakeProducerIdBlocks:
    """The znode of producer id blocks; another broker may take one first, or ZooKeeper be away."""

    def __init__(self) -> None:
        self.latest: ProducerIdBlock | None = None
        self.version = 0
        self.taken_before_us: deque[ProducerIdBlock] = deque()
        self.held: Deferred[None] | None = None
        self.error: Exception | None = None
        self.reads = 0

    async def get_latest_producer_id_block(self) -> tuple[ProducerIdBlock | None, int]:
        self.reads += 1
        if self.held is not None:
            await self.held
        if self.error is not None:
            raise self.error
        return self.latest, self.version

    async def conditional_set_producer_id_block(
        self, block: ProducerIdBlock, expected_version: int
    ) -> bool:
        if self.taken_before_us:
            self.latest = self.taken_before_us.popleft()
            self.version += 1
        if expected_version != self.version:
            return False
        self.latest = block
        self.version += 1
        return True


class FakeReplicas:
    """Leads partitions of the transaction log on real files; acknowledges when told to."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.logs: dict[TopicPartition, Log] = {}
        self.errors: deque[KafkaError] = deque()
        self.timeouts: list[int] = []
        self._held: deque[Deferred[None]] | None = None

    def lead(self, partition: int, **settings: Any) -> Log:
        """Have the log of a partition."""
        tp = TopicPartition(TRANSACTION_STATE_TOPIC, partition)
        self.logs[tp] = open_log(self._directory / str(tp), **settings)
        return self.logs[tp]

    def hold(self) -> None:
        """Acknowledge nothing until `release`."""
        self._held = deque()

    def release(self) -> None:
        """Acknowledge the oldest append that waits."""
        assert self._held, "no append waits"
        self._held.popleft().callback(None)

    def get_log(self, tp: TopicPartition) -> Log | None:
        return self.logs.get(tp)

    async def append_records(
        self,
        entries: Iterable[tuple[TopicPartition, memoryview]],
        required_acks: int,
        timeout_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> list[ProduceStatus]:
        assert required_acks == -1
        assert origin is AppendOrigin.COORDINATOR
        ((tp, batch),) = entries
        self.timeouts.append(timeout_ms)
        status = ProduceStatus(tp, None, None)
        if self.errors:
            status.error = self.errors.popleft()
        else:
            log = self.logs[tp]
            status.info = log.append_as_leader(batch, leader_epoch=0, now_ms=NOW_MS, origin=origin)
        if self._held is not None:
            waiting: Deferred[None] = Deferred()
            self._held.append(waiting)
            await waiting
        return [status]

    def written(self, partition: int = 0) -> list[tuple[str, TxnTransitMetadata | None]]:
        """Return all that was written: transactional ids and what they became."""
        log = self.logs[TopicPartition(TRANSACTION_STATE_TOPIC, partition)]
        found = [read_record(record) for record in records_of(log)]
        return [(name, None if metadata is None else metadata.current) for name, metadata in found]

    def written_states(self, partition: int = 0) -> list[str]:
        """Return the names of the states that were written."""
        return [
            "tombstone" if current is None else current.txn_state.kafka_name
            for _, current in self.written(partition)
        ]


class FakeBrokerSender:
    """A broker that takes markers; answers NONE unless scripted otherwise."""

    def __init__(self) -> None:
        self.requests: list[tuple[WriteTxnMarkersRequest, int]] = []
        self.codes: dict[TopicPartition, deque[ErrorCode]] = {}
        """What is answered for a partition, one after the other; then NONE."""
        self.errors: deque[Exception] = deque()
        self.held: deque[Deferred[None]] | None = None
        self.is_closed = False

    async def send(self, request: Any, version: int) -> Any:
        self.requests.append((request, version))
        if self.errors:
            raise self.errors.popleft()
        if self.held is not None:
            waiting: Deferred[None] = Deferred()
            self.held.append(waiting)
            await waiting
        return WriteTxnMarkersResponse(
            markers=[
                WritableTxnMarkerResult(
                    producer_id=marker.producer_id,
                    topics=[
                        WritableTxnMarkerTopicResult(
                            name=topic.name,
                            partitions=[
                                WritableTxnMarkerPartitionResult(
                                    partition_index=index,
                                    error_code=self._code(TopicPartition(topic.name, index)),
                                )
                                for index in topic.partition_indexes
                            ],
                        )
                        for topic in marker.topics
                    ],
                )
                for marker in request.markers
            ]
        )

    def _code(self, tp: TopicPartition) -> ErrorCode:
        codes = self.codes.get(tp)
        return codes.popleft() if codes else ErrorCode.NONE

    def close(self) -> None:
        self.is_closed = True

    @property
    def markers(self) -> list[tuple[int, int, int, bool, list[TopicPartition]]]:
        """All markers asked for: producer id, its epoch, coordinator epoch, commit, partitions."""
        return [
            (
                marker.producer_id,
                marker.producer_epoch,
                marker.coordinator_epoch,
                marker.transaction_result,
                [
                    TopicPartition(t.name, index)
                    for t in marker.topics
                    for index in t.partition_indexes
                ],
            )
            for request, _ in self.requests
            for marker in request.markers
        ]


def a_broker(broker_id: int, port: int = 9092) -> Broker:
    """Make a broker with one listener."""
    end_point = EndPoint(f"host{broker_id}", port, "PLAINTEXT", "PLAINTEXT")
    return Broker(broker_id, (end_point,), None)


def show_leaders(
    cache: MetadataCache, leaders: Mapping[TopicPartition, int], brokers: Iterable[Broker]
) -> None:
    """Let the metadata name these leaders and live brokers."""
    states = [
        (
            tp.topic,
            PartitionMetadata(
                partition=tp.partition,
                leader=leader,
                leader_epoch=0,
                isr=(leader,),
                replicas=(leader,),
            ),
        )
        for tp, leader in leaders.items()
    ]
    cache.update(1, {broker.id: broker for broker in brokers}, states, {})


class TransactionWorld:
    """A coordinator on a clock: broker 1 leads the log, brokers 1 and 2 lead topic partitions."""

    def __init__(self, directory: Path, properties: Mapping[str, str] | None = None) -> None:
        self.clock = Clock()
        self.clock.advance(NOW_MS / 1000)
        self.time = Time(self.clock)
        self.config = BrokerConfig.from_properties(
            {"broker.id": "1", "zookeeper.connect": "zk:2181", **(properties or {})}
        )
        self.replicas = FakeReplicas(directory)
        self.blocks = FakeProducerIdBlocks()
        self.metadata_cache = MetadataCache()
        self.deleted: set[TopicPartition] = set()
        self.senders = {1: FakeBrokerSender(), 2: FakeBrokerSender()}
        show_leaders(
            self.metadata_cache, {PARTITION: 1, OTHER_PARTITION: 2}, [a_broker(1), a_broker(2)]
        )
        self.replicas.lead(0)
        self.start()

    def start(self) -> None:
        """Have a coordinator that knows nothing yet, as after a restart of the broker."""
        self.store = TransactionStore(
            lambda: self.config, self.replicas, self.time, run_at_once, lambda: 1
        )
        self.markers = MarkerChannelManager(
            self.store,
            self.metadata_cache,
            self._is_deleted,
            lambda b: self.senders[b.id],
            lambda: 1,
            self.time,
        )
        self.coordinator = TransactionCoordinator(
            lambda: self.config,
            ProducerIdManager(1, self.blocks),
            self.store,
            self.markers,
            TransactionalIdExpiry(self.store, self.replicas, lambda: self.config, self.time),
            self.time,
        )

    async def _is_deleted(self, tp: TopicPartition) -> bool:
        return tp in self.deleted

    def elect(self, epoch: int = 0) -> None:
        """Let broker 1 be elected, and load."""
        self.coordinator.on_election(0, epoch)
        self.settle()

    def settle(self) -> None:
        """Let happen what needs no time to pass."""
        for _ in range(10):
            self.clock.advance(0)

    def advance_ms(self, ms: float, step_ms: float = 10) -> None:
        """Let time pass, a little at a time."""
        while ms > 0:
            self.clock.advance(min(ms, step_ms) / 1000)
            ms -= step_ms

    def metadata(self, transactional_id: str = TXN_ID) -> TransactionMetadata:
        """Return what the coordinator knows of an id."""
        known = self.store.get(transactional_id)
        assert known is not None, f"{transactional_id} is not known"
        return known.metadata

    @property
    def state(self) -> TransactionState:
        """The state of the transaction."""
        return self.metadata().state
