"""Producer ids and transactions: talks to the transaction coordinator for a producer.

Part of Kafka's `TransactionManager`; the numbers of batches are in `sequences`.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from kafkalike.client.consumer.offsets import ConsumerGroupMetadata, OffsetAndMetadata, as_offset
from kafkalike.client.kafka_client import GROUP, TRANSACTION, KafkaClient
from kafkalike.client.producer.producer_config import ProducerConfig
from kafkalike.client.producer.sequences import Sequences
from kafkalike.client.producer.transaction_state import TransactionState
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    ErrorCode,
    KafkaError,
    ProducerFencedError,
    RequestTimedOutError,
    error_for,
)
from kafkalike.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafkalike.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from kafkalike.protocol.messages.end_txn import EndTxnRequest
from kafkalike.protocol.messages.init_producer_id import InitProducerIdRequest
from kafkalike.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kafkalike.protocol.schema import Message

_FATAL: Final = {
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
}
_ASK_AGAIN: Final = {
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.REQUEST_TIMED_OUT,
}
_CONCURRENT_PAUSE_MS: Final = 20
"""The end of the last transaction takes a moment; Kafka's client waits this long as well."""


class TransactionManager:
    """The transactions of one producer; `wake` tells the sender that a partition may go."""

    def __init__(self, client: KafkaClient, config: ProducerConfig, sequences: Sequences) -> None:
        self._client = client
        self._config = config
        self._sequences = sequences
        self._coordinator: int | None = None
        self._state = TransactionState.UNINITIALIZED
        self._error: KafkaError | None = None
        self._added: set[TopicPartition] = set()
        self._wanted: set[TopicPartition] = set()
        self._is_adding = False
        self._has_offsets = False
        self._must_restart = False
        self.wake: Callable[[], None] = _do_nothing
        self.on_failed: Callable[[KafkaError], None] = _do_nothing

    @property
    def transactional_id(self) -> str:
        """The id that makes a restarted producer the same one."""
        return self._config.transactional_id or ""

    @property
    def has_failed(self) -> bool:
        """Whether nothing more can be sent in this transaction."""
        return self._error is not None

    @property
    def state(self) -> TransactionState:
        """Where the producer stands."""
        return self._state

    def check_may_send(self) -> None:
        """Raise unless a transaction is open and sound."""
        self._check_error()
        TransactionState.COMMITTING.check_follows(self._state)

    def may_send(self, tp: TopicPartition) -> bool:
        """Whether the coordinator knows that the transaction writes to a partition; tells it."""
        if tp in self._added:
            return self._error is None
        if self._state in (TransactionState.IN_TRANSACTION, TransactionState.COMMITTING):
            self._wanted.add(tp)
            if not self._is_adding and self._error is None:
                self._is_adding = True
                self._client.background.start(self._add_partitions(), "adding partitions")
        return False

    def batch_failed(self, error: KafkaError) -> None:
        """Take note that records of the transaction are lost: it can only be aborted."""
        if self._state in (TransactionState.IN_TRANSACTION, TransactionState.COMMITTING):
            self._fail(error)

    async def init_transactions(self) -> None:
        """Get the producer id; fences former producers, ends what they left open."""
        self._check_error()
        TransactionState.READY.check_follows(self._state)
        await self._init_producer_id(is_restart=False)
        self._go(TransactionState.READY)

    def begin(self) -> None:
        """Open a transaction."""
        self._check_error()
        self._go(TransactionState.IN_TRANSACTION)

    async def commit(self, flush: Callable[[], Awaitable[None]]) -> None:
        """Write all that was sent, then end the transaction: it is visible, all of it."""
        self._check_error()
        self._go(TransactionState.COMMITTING)
        await flush()
        self._check_error()
        await self._end(committed=True)

    async def abort(self, drop: Callable[[], Awaitable[None]]) -> None:
        """End the transaction: readers of committed data will never see any of it."""
        if self._state is TransactionState.FATAL_ERROR:
            self._check_error()
        self._go(TransactionState.ABORTING)
        await drop()
        self._error = None
        await self._end(committed=False)

    async def send_offsets(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        group: ConsumerGroupMetadata,
    ) -> None:
        """Commit a consumer's offsets as part of the transaction."""
        self.check_may_send()
        if not offsets:
            return
        request = AddOffsetsToTxnRequest(**self._who(), group_id=group.group_id)
        try:
            await self._ask_coordinator(request)
            self._has_offsets = True
            await self._commit_offsets(offsets, group)
        except KafkaError as error:
            self._fail(error)
            raise

    def _who(self) -> dict[str, Any]:
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self._sequences.producer_id,
            "producer_epoch": self._sequences.epoch,
        }

    async def _init_producer_id(self, *, is_restart: bool) -> None:
        sequences = self._sequences
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=self._config.transaction_timeout_ms,
            producer_id=sequences.producer_id if is_restart else -1,
            producer_epoch=sequences.epoch if is_restart else -1,
        )
        answer = await self._ask_coordinator(request)
        sequences.set_producer(answer.producer_id, answer.producer_epoch)

    async def _add_partitions(self) -> None:
        try:
            while self._wanted and self._error is None:
                wanted = sorted(self._wanted)
                by_topic: dict[str, list[int]] = {}
                for tp in wanted:
                    by_topic.setdefault(tp.topic, []).append(tp.partition)
                request = AddPartitionsToTxnRequest(
                    **self._who(),
                    topics=[
                        AddPartitionsToTxnTopic(name=name, partitions=partitions)
                        for name, partitions in by_topic.items()
                    ],
                )
                await self._ask_coordinator(request)
                self._added.update(wanted)
                self._wanted.difference_update(wanted)
        except KafkaError as error:
            self._fail(error)
        finally:
            self._is_adding = False
        self.wake()

    async def _commit_offsets(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        group: ConsumerGroupMetadata,
    ) -> None:
        topics: dict[str, TxnOffsetCommitRequestTopic] = {}
        for tp, given in offsets.items():
            committed = as_offset(given)
            topic = topics.setdefault(tp.topic, TxnOffsetCommitRequestTopic(name=tp.topic))
            topic.partitions.append(
                TxnOffsetCommitRequestPartition(
                    partition_index=tp.partition,
                    committed_offset=committed.offset,
                    committed_leader_epoch=committed.leader_epoch,
                    committed_metadata=committed.metadata,
                )
            )
        request = TxnOffsetCommitRequest(
            **self._who(),
            group_id=group.group_id,
            generation_id=group.generation_id,
            member_id=group.member_id,
            group_instance_id=group.group_instance_id,
            topics=list(topics.values()),
        )
        await self._client_retry(lambda: self._send_to_group(group.group_id, request))

    async def _send_to_group(self, group_id: str, request: Message) -> None:
        node = await self._client.find_coordinator(group_id, GROUP)
        _check(await self._client.send(node.id, request))

    async def _end(self, *, committed: bool) -> None:
        try:
            if self._added or self._has_offsets:
                await self._ask_coordinator(EndTxnRequest(**self._who(), committed=committed))
            if self._must_restart and not committed:
                await self._init_producer_id(is_restart=True)
        except KafkaError as error:
            self._fail(error)
            raise
        self._added.clear()
        self._wanted.clear()
        self._has_offsets = self._must_restart = False
        self._go(TransactionState.READY)

    async def _ask_coordinator(self, request: Message) -> Any:
        """Ask until the coordinator, whoever it is by then, has answered."""

        async def ask() -> Any:
            if self._coordinator is None:
                node = await self._client.find_coordinator(self.transactional_id, TRANSACTION)
                self._coordinator = node.id
            try:
                answer = await self._client.send(self._coordinator, request)
                _check(answer)
            except KafkaError as error:
                if error.code not in (
                    ErrorCode.CONCURRENT_TRANSACTIONS,
                    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
                ):
                    self._coordinator = None
                raise
            return answer

        return await self._client_retry(ask)

    async def _client_retry(self, ask: Callable[[], Awaitable[Any]]) -> Any:
        time = self._client.time
        deadline_ms = time.now_ms() + self._config.max_block_ms
        while True:
            try:
                return await ask()
            except KafkaError as error:
                if error.code not in _ASK_AGAIN or self._client.is_closed:
                    raise
                if time.now_ms() >= deadline_ms:
                    raise RequestTimedOutError(
                        f"transactional id {self.transactional_id}: {error} "
                        f"(for {self._config.max_block_ms} ms)"
                    ) from error
                pause_ms = self._config.retry_backoff_ms
                if error.code == ErrorCode.CONCURRENT_TRANSACTIONS:
                    pause_ms = _CONCURRENT_PAUSE_MS
            await time.sleep_ms(pause_ms)

    def _fail(self, error: KafkaError) -> None:
        if self._error is None:
            self._error = error
        if error.code in _FATAL:
            self._go(TransactionState.FATAL_ERROR)
        elif self._state is not TransactionState.FATAL_ERROR:
            self._must_restart = True
            if self._state is TransactionState.ABORTING:
                self._go(TransactionState.FATAL_ERROR)
            else:
                self._go(TransactionState.ABORTABLE_ERROR)
        self.on_failed(error)

    def _go(self, state: TransactionState) -> None:
        state.check_follows(self._state)
        self._state = state

    def _check_error(self) -> None:
        if self._error is None:
            return
        if self._error.code == ErrorCode.INVALID_PRODUCER_EPOCH:
            raise ProducerFencedError(
                f"transactional id {self.transactional_id}: a newer producer has taken over"
            ) from self._error
        raise self._error


def _check(answer: Any) -> None:
    """Raise the first error of an answer, wherever in it errors stand."""
    codes = [getattr(answer, "error_code", 0)]
    for topic in [*getattr(answer, "results", ()), *getattr(answer, "topics", ())]:
        parts = topic.results if hasattr(topic, "results") else topic.partitions
        codes += [part.error_code for part in parts]
    # Partitions beside the one that failed are "not attempted", which says nothing.
    codes.sort(key=lambda code: code == ErrorCode.OPERATION_NOT_ATTEMPTED)
    for code in codes:
        if code != ErrorCode.NONE:
            problem = error_for(code)
            raise problem


def _do_nothing(*_: object) -> None:
    """Stand in until there is a sender."""
