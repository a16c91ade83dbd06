"""A transactional producer on the wire: every request on its own, in any version."""

from typing import Any

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafkalike.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from kafkalike.protocol.messages.end_txn import EndTxnRequest
from kafkalike.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkalike.protocol.messages.init_producer_id import InitProducerIdRequest
from kafkalike.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from kafkalike.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kafkalike.protocol.records.control_record import parse_control_type
from kafkalike.protocol.records.record_batch import iter_batches
from kafkalike.protocol.records.record_reader import iter_records
from tests.support import wire
from tests.support.target import unique_topic
from tests.support.waiting import wait_until

READ_COMMITTED = 1
GROUP_KEY, TRANSACTION_KEY = 0, 1


def wait_for_coordinator(client: SimpleClient, key: str, key_type: int) -> int:
    """Wait until somebody coordinates a group or transactional id; return the broker's id."""

    def found() -> Any:
        answer = client.send(FindCoordinatorRequest(key=key, key_type=key_type))
        return answer if answer.error_code == ErrorCode.NONE else None

    return int(wait_until(found, 30, f"coordinator of {key}").node_id)


_NO_COORDINATOR = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)


class WireProducer:
    """A producer with a transactional id of its own; it retries nothing that matters to a test."""

    def __init__(
        self, client: SimpleClient, transactional_id: str | None = None, timeout_ms: int = 60_000
    ) -> None:
        self.client = client
        self.transactional_id = transactional_id or unique_topic("txn")
        self.group = f"group-of-{self.transactional_id}"
        self.timeout_ms = timeout_ms
        self.id = self.epoch = -1
        self._sequences: dict[tuple[str, int], int] = {}
        wait_for_coordinator(client, self.transactional_id, TRANSACTION_KEY)

    # --- who it is

    def ask_for_id(self, version: int | None = None, **fields: Any) -> Any:
        """Send InitProducerId and return the answer, whatever it is."""
        fields = {
            "transactional_id": self.transactional_id,
            "transaction_timeout_ms": self.timeout_ms,
            **fields,
        }
        return self.client.send(InitProducerIdRequest(**fields), version)

    def init(self) -> None:
        """Start; waits until the coordinator has loaded, or aborted what was left open."""

        def started() -> Any:
            answer = self.ask_for_id()
            if answer.error_code in (
                ErrorCode.CONCURRENT_TRANSACTIONS,
                ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
                ErrorCode.NOT_COORDINATOR,
            ):
                return None
            assert answer.error_code == ErrorCode.NONE, ErrorCode(answer.error_code)
            return answer

        answer = wait_until(started, 30, f"id for {self.transactional_id}")
        self.id, self.epoch = answer.producer_id, answer.producer_epoch
        self._sequences.clear()

    @property
    def _who(self) -> dict[str, Any]:
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self.id,
            "producer_epoch": self.epoch,
        }

    # --- its transaction

    def add(self, topic: str, *partitions: int, version: int | None = None) -> list[ErrorCode]:
        """Add partitions; the code of each."""
        topics = [AddPartitionsToTxnTopic(name=topic, partitions=list(partitions))]
        request = AddPartitionsToTxnRequest(topics=topics, **self._who)
        (answer,) = self.client.send(request, version).results
        codes = {one.partition_index: ErrorCode(one.error_code) for one in answer.results}
        return [codes[partition] for partition in partitions]

    def begin(self, topic: str, *partitions: int) -> None:
        """Add partitions as soon as the former transaction has ended."""
        ended = [ErrorCode.NONE] * len(partitions)
        wait_until(lambda: self.add(topic, *partitions) == ended, 30, "end of the former one")

    def write(self, topic: str, *values: bytes, partition: int = 0) -> ErrorCode:
        """Append a batch in the transaction; one that fails may be sent again."""
        key = (topic, partition)
        sequence = self._sequences.get(key, 0)
        records = wire.batch(
            *values,
            producer_id=self.id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        answer = wire.produce(
            self.client,
            topic,
            records,
            acks=-1,
            partition=partition,
            transactional_id=self.transactional_id,
        )
        if answer.error_code == ErrorCode.NONE:
            self._sequences[key] = sequence + len(values)
        return ErrorCode(answer.error_code)

    def add_offsets(self, version: int | None = None) -> ErrorCode:
        """Add the offsets of its group."""
        request = AddOffsetsToTxnRequest(group_id=self.group, **self._who)
        return ErrorCode(self.client.send(request, version).error_code)

    def commit_offset(
        self, topic: str, offset: int, version: int | None = None, **fields: Any
    ) -> ErrorCode:
        """Commit an offset of its group in the transaction."""
        partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        topics = [TxnOffsetCommitRequestTopic(name=topic, partitions=[partition])]
        request = TxnOffsetCommitRequest(
            group_id=self.group, topics=topics, **{**self._who, **fields}
        )
        ((answer,),) = (one.partitions for one in self.client.send(request, version).topics)
        return ErrorCode(answer.error_code)

    def end(self, *, is_commit: bool, version: int | None = None) -> ErrorCode:
        """Commit or abort."""
        request = EndTxnRequest(committed=is_commit, **self._who)
        return ErrorCode(self.client.send(request, version).error_code)

    def end_at_coordinator(self, *, is_commit: bool) -> ErrorCode:
        """Commit or abort, as soon as there is a coordinator: the last one has just died."""
        answers: list[ErrorCode] = []

        def is_answered() -> bool:
            answers.append(self.end(is_commit=is_commit))
            return answers[-1] not in _NO_COORDINATOR

        wait_until(is_answered, 30, f"a coordinator of {self.transactional_id}")
        return answers[-1]


def committed_offset(
    client: SimpleClient, group: str, topic: str, *, require_stable: bool = False
) -> tuple[int, ErrorCode]:
    """Return what a group has committed for partition 0."""
    request = OffsetFetchRequest(
        group_id=group,
        topics=[OffsetFetchRequestTopic(name=topic, partition_indexes=[0])],
        require_stable=require_stable,
    )
    ((answer,),) = (one.partitions for one in client.send(request).topics)
    return answer.committed_offset, ErrorCode(answer.error_code)


def log_of(client: SimpleClient, topic: str, partition: int = 0) -> list[str]:
    """Return everything in a partition: values of records, and the markers among them."""
    answer = wire.fetch(client, topic, 0, partition=partition)
    assert answer.error_code == ErrorCode.NONE, ErrorCode(answer.error_code)
    data = bytes(answer.record_set or b"")
    return [
        parse_control_type(record.key).name if header.is_control else (record.value or b"").decode()
        for position, header in iter_batches(data)
        for record in iter_records(data, position, header)
    ]


def committed_values(client: SimpleClient, topic: str, partition: int = 0) -> list[str]:
    """Return what a reader of committed records makes of a partition."""
    answer = wire.fetch(client, topic, 0, partition=partition, isolation_level=READ_COMMITTED)
    assert answer.error_code == ErrorCode.NONE, ErrorCode(answer.error_code)
    aborted = sorted((t.first_offset, t.producer_id) for t in answer.aborted_transactions or ())
    ignored: set[int] = set()
    values: list[str] = []
    data = bytes(answer.record_set or b"")
    for position, header in iter_batches(data):
        while aborted and aborted[0][0] <= header.last_offset:
            ignored.add(aborted.pop(0)[1])
        if header.is_control:
            ignored.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in ignored):
            values += [(r.value or b"").decode() for r in iter_records(data, position, header)]
    return values
