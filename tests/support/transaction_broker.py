"""A broker with both coordinators on a clock, asked through its handlers: no network, real logs."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from kafkalike.coordinator.group.group_coordinator import GroupCoordinator
from kafkalike.log.log import Log
from kafkalike.model.broker import Broker
from kafkalike.model.topic import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafkalike.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from kafkalike.protocol.messages.end_txn import EndTxnRequest
from kafkalike.protocol.messages.init_producer_id import InitProducerIdRequest
from kafkalike.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from kafkalike.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kafkalike.server.api.registry import load_apis
from kafkalike.server.broker_senders import BrokerSenders, LocalSender
from kafkalike.server.services import BrokerServices
from kafkalike.server.transaction_parts import transaction_coordinator
from tests.support.admin_broker import AdminBroker
from tests.support.log_builder import a_batch, append, run_at_once

TXN_ID = "a-transaction"
GROUP = "a-group"
TOPIC = "t"


class TransactionBroker(AdminBroker):
    """Broker 1 leads partition 0 of a topic and of both internal topics."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self.start_logs(directory)
        self.group_coordinator = GroupCoordinator(
            self.config,
            self.replica_manager,
            self.time,
            run_at_once,
            lambda: "uuid",
            partition_count=1,
        )
        self.transaction_coordinator = transaction_coordinator(
            self.zk,
            self.dynamic_config,
            self.replica_manager,
            self.metadata_cache,
            cast(BrokerSenders, SimpleNamespace(to_broker=self._to_broker)),
            self.time,
            run_at_once,
        )
        for topic in (TRANSACTION_STATE_TOPIC, GROUP_METADATA_TOPIC, TOPIC):
            self.create_topic(topic, {0: (1,)})
            self.lead(topic)
        self.group_coordinator.on_election(0, 0)
        self.transaction_coordinator.on_election(0, 0)
        self.clock.advance(0)

    def _to_broker(self, broker: Broker) -> LocalSender:
        assert broker.id == 1
        return LocalSender(cast(BrokerServices, self), load_apis(), "PLAINTEXT")

    def log_of(self, topic: str) -> Log:
        """Return the log of partition 0."""
        log = self.replica_manager.get_log(TopicPartition(topic, 0))
        assert log is not None
        return log

    # --- requests; Any: the answer's class follows from the request's

    def init(self, version: int | None = None, **fields: Any) -> Any:
        """Ask for a producer id."""
        fields = {"transactional_id": TXN_ID, "transaction_timeout_ms": 60_000, **fields}
        return self.ask(InitProducerIdRequest(**fields), version)

    def add(
        self, *partitions: int, producer: Any, topic: str = TOPIC, version: int | None = None
    ) -> list[ErrorCode]:
        """Add partitions of a topic; the code of each."""
        request = AddPartitionsToTxnRequest(
            transactional_id=TXN_ID,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            topics=[AddPartitionsToTxnTopic(name=topic, partitions=list(partitions))],
        )
        (answer,) = self.ask(request, version).results
        assert answer.name == topic
        assert [one.partition_index for one in answer.results] == list(partitions)
        return [ErrorCode(one.error_code) for one in answer.results]

    def add_offsets(self, producer: Any, version: int | None = None) -> ErrorCode:
        """Add the offsets of the group."""
        request = AddOffsetsToTxnRequest(
            transactional_id=TXN_ID,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            group_id=GROUP,
        )
        return ErrorCode(self.ask(request, version).error_code)

    def end(self, producer: Any, *, is_commit: bool, version: int | None = None) -> ErrorCode:
        """End the transaction."""
        request = EndTxnRequest(
            transactional_id=TXN_ID,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            committed=is_commit,
        )
        return ErrorCode(self.ask(request, version).error_code)

    def write(self, producer: Any, value: bytes, sequence: int = 0) -> None:
        """Append a record in the transaction."""
        batch = a_batch(
            [value],
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        append(self.log_of(TOPIC), batch)

    def commit_offset(
        self,
        producer: Any,
        offset: int,
        *,
        topic: str = TOPIC,
        version: int | None = None,
        **fields: Any,
    ) -> ErrorCode:
        """Commit an offset of the group in the transaction."""
        partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        request = TxnOffsetCommitRequest(
            transactional_id=TXN_ID,
            group_id=GROUP,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[partition])],
            **fields,
        )
        ((answer,),) = (one.partitions for one in self.ask(request, version).topics)
        return ErrorCode(answer.error_code)

    def committed_offset(self, *, require_stable: bool = False) -> tuple[int, ErrorCode]:
        """Ask what the group has committed."""
        request = OffsetFetchRequest(
            group_id=GROUP,
            topics=[OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])],
            require_stable=require_stable,
        )
        ((answer,),) = (one.partitions for one in self.ask(request).topics)
        return answer.committed_offset, ErrorCode(answer.error_code)
