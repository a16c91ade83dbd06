"""AddPartitionsToTxn, AddOffsetsToTxn, TxnOffsetCommit, EndTxn and WriteTxnMarkers together."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafkalike.coordinator.group.group_offsets import OffsetAndMetadata
from kafkalike.log.fetch_data_info import FetchIsolation
from kafkalike.model.topic import GROUP_METADATA_TOPIC
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafkalike.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from kafkalike.protocol.messages.end_txn import EndTxnRequest
from kafkalike.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kafkalike.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from kafkalike.protocol.records.control_record import ControlRecordType, read_end_txn_marker
from tests.support.log_builder import a_batch, append, batches_of, committed_offsets_of, values_of
from tests.support.run import run
from tests.support.transaction_broker import GROUP, TOPIC, TXN_ID, TransactionBroker

UNFENCED_VERSIONS = [(1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[TransactionBroker]:
    started = TransactionBroker(tmp_path)
    yield started
    started.stop()


# Any: the answer of InitProducerId, which has the producer's id and epoch.
@pytest.fixture
def producer(broker: TransactionBroker) -> Any:
    return broker.init()


@pytest.fixture
def zombie(broker: TransactionBroker, producer: Any) -> Any:
    broker.init()
    return producer


# --- a whole transaction


@pytest.mark.parametrize("version", range(4))
@pytest.mark.parametrize("is_commit", [True, False])
def test_records_and_offsets_take_effect_together(
    broker: TransactionBroker, producer: Any, version: int, *, is_commit: bool
) -> None:
    assert broker.add(0, producer=producer, version=version) == [ErrorCode.NONE]
    broker.write(producer, b"in the transaction")
    assert broker.add_offsets(producer, version) == ErrorCode.NONE
    assert broker.commit_offset(producer, 17, version=version) == ErrorCode.NONE
    assert broker.committed_offset() == (-1, ErrorCode.NONE)
    assert broker.committed_offset(require_stable=True)[1] == ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert committed_offsets_of(broker.log_of(TOPIC)) == []
    assert broker.end(producer, is_commit=is_commit, version=version) == ErrorCode.NONE
    broker.clock.advance(0)
    assert broker.committed_offset(require_stable=True) == (17 if is_commit else -1, ErrorCode.NONE)
    assert committed_offsets_of(broker.log_of(TOPIC)) == ([0] if is_commit else [])
    assert broker.add(0, producer=producer) == [ErrorCode.NONE]


def test_aborted_transaction_is_named_to_those_who_read_committed_records(
    broker: TransactionBroker, producer: Any
) -> None:
    log = broker.log_of(TOPIC)
    append(log, a_batch([b"plain"]))
    broker.add(0, producer=producer)
    broker.write(producer, b"aborted")
    broker.end(producer, is_commit=False)
    found = log.read(0, 1 << 20, FetchIsolation.TXN_COMMITTED, min_one_message=True)
    assert found.aborted_transactions is not None
    assert [(one.producer_id, one.first_offset) for one in found.aborted_transactions] == [(0, 1)]
    assert values_of(log) == [b"plain", b"aborted"]
    assert log.last_stable_offset == 3


def test_zombie_can_write_no_more(broker: TransactionBroker, producer: Any) -> None:
    broker.add(0, producer=producer)
    broker.write(producer, b"aborted")
    assert broker.init().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    newer = broker.init()
    assert newer.producer_epoch == 2
    with pytest.raises(Exception, match="smaller than the last seen epoch 1"):
        broker.write(producer, b"zombie", sequence=1)


# --- AddPartitionsToTxn


def test_all_partitions_are_added_or_none(broker: TransactionBroker, producer: Any) -> None:
    assert broker.add(0, 7, producer=producer) == [
        ErrorCode.OPERATION_NOT_ATTEMPTED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert broker.end(producer, is_commit=True) == ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state"])
def test_producers_do_not_write_internal_topics(
    broker: TransactionBroker, producer: Any, topic: str
) -> None:
    added = broker.add(0, producer=producer, topic=topic)
    assert added == [ErrorCode.TOPIC_AUTHORIZATION_FAILED]


@pytest.mark.parametrize(("version", "code"), UNFENCED_VERSIONS)
def test_fenced_producer_is_told_in_words_that_it_knows(
    broker: TransactionBroker, zombie: Any, version: int, code: ErrorCode
) -> None:
    assert broker.add(0, producer=zombie, version=version) == [code]
    assert broker.add_offsets(zombie, version) == code
    assert broker.end(zombie, is_commit=True, version=version) == code


def test_empty_transactional_id_is_refused(broker: TransactionBroker) -> None:
    partitions = AddPartitionsToTxnRequest(
        transactional_id="", topics=[AddPartitionsToTxnTopic(name=TOPIC, partitions=[0])]
    )
    (added,) = broker.ask(partitions).results
    assert added.results[0].error_code == ErrorCode.INVALID_REQUEST
    offsets = AddOffsetsToTxnRequest(transactional_id="", group_id=GROUP)
    assert broker.ask(offsets).error_code == ErrorCode.INVALID_REQUEST
    end = EndTxnRequest(transactional_id="", committed=True)
    assert broker.ask(end).error_code == ErrorCode.INVALID_REQUEST


def test_unknown_producer_has_no_transaction(broker: TransactionBroker, producer: Any) -> None:
    producer.producer_id = 99
    mismatch = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert broker.add(0, producer=producer) == [mismatch]
    assert broker.add_offsets(producer) == mismatch
    assert broker.end(producer, is_commit=True) == mismatch


# --- TxnOffsetCommit


def test_offsets_of_topics_that_do_not_exist_are_refused(
    broker: TransactionBroker, producer: Any
) -> None:
    code = broker.commit_offset(producer, 1, topic="nope")
    assert code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_nothing_to_commit_is_no_error(broker: TransactionBroker) -> None:
    request = TxnOffsetCommitRequest(transactional_id=TXN_ID, group_id=GROUP, topics=[])
    assert broker.ask(request).topics == []


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation_id": 5}, ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_member_that_lost_its_partitions_cannot_commit(
    broker: TransactionBroker, producer: Any, fields: dict[str, Any], code: ErrorCode
) -> None:
    """KIP-447: the group itself fences zombies."""
    assert broker.commit_offset(producer, 1, **fields) == code


@pytest.mark.parametrize(
    ("version", "code"),
    [
        (1, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (2, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
def test_old_producers_do_not_hear_of_loading(
    broker: TransactionBroker, producer: Any, version: int, code: ErrorCode
) -> None:
    broker.group_coordinator.on_resignation(0, 1)
    broker.group_coordinator.store.loading_partitions.add(0)
    assert broker.commit_offset(producer, 1, version=version) == code


# --- WriteTxnMarkers


def write_markers(broker: TransactionBroker, *markers: WritableTxnMarker, version: int = 1) -> Any:
    answer = broker.ask(WriteTxnMarkersRequest(markers=list(markers)), version)
    return {
        (marker.producer_id, topic.name, partition.partition_index): ErrorCode(partition.error_code)
        for marker in answer.markers
        for topic in marker.topics
        for partition in topic.partitions
    }


def a_marker(
    producer_id: int = 7,
    topics: dict[str, list[int]] | None = None,
    *,
    is_commit: bool = True,
    coordinator_epoch: int = 0,
) -> WritableTxnMarker:
    return WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=0,
        transaction_result=is_commit,
        topics=[
            WritableTxnMarkerTopic(name=name, partition_indexes=partitions)
            for name, partitions in (topics or {TOPIC: [0]}).items()
        ],
        coordinator_epoch=coordinator_epoch,
    )


@pytest.mark.parametrize("version", [0, 1])
def test_markers_are_written_and_each_is_answered(broker: TransactionBroker, version: int) -> None:
    written = write_markers(
        broker, a_marker(7), a_marker(8, is_commit=False, coordinator_epoch=3), version=version
    )
    assert written == {(7, TOPIC, 0): ErrorCode.NONE, (8, TOPIC, 0): ErrorCode.NONE}
    found = []
    for header, batch in batches_of(broker.log_of(TOPIC)):
        marker = read_end_txn_marker(batch, 0, header)
        assert marker is not None
        found.append((header.producer_id, marker.control_type, marker.coordinator_epoch))
    assert found == [(7, ControlRecordType.COMMIT, 0), (8, ControlRecordType.ABORT, 3)]


def test_each_partition_has_its_own_error(broker: TransactionBroker) -> None:
    broker.create_topic("elsewhere", {0: (1,)})
    written = write_markers(broker, a_marker(topics={TOPIC: [0, 9], "elsewhere": [0]}))
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert written == {
        (7, TOPIC, 0): ErrorCode.NONE,
        (7, TOPIC, 9): unknown,
        (7, "elsewhere", 0): unknown,
    }


def test_former_coordinator_is_fenced(broker: TransactionBroker) -> None:
    write_markers(broker, a_marker(coordinator_epoch=5))
    written = write_markers(broker, a_marker(coordinator_epoch=4))
    assert written == {(7, TOPIC, 0): ErrorCode.TRANSACTION_COORDINATOR_FENCED}


def test_no_markers_no_answers(broker: TransactionBroker) -> None:
    assert write_markers(broker) == {}


def test_state_of_the_transaction_is_in_its_log(broker: TransactionBroker, producer: Any) -> None:
    broker.add(0, producer=producer)
    broker.end(producer, is_commit=True)
    log = broker.log_of("__transaction_state")
    assert log.log_end_offset == 4
    assert all(TXN_ID.encode() in batch for _, batch in batches_of(log))


def test_marker_does_not_wait_for_offsets_that_are_not_in_the_log_yet(
    broker: TransactionBroker, producer: Any
) -> None:
    """A zombie may send them whenever it likes: what comes behind the marker is not ended by it."""
    store = broker.group_coordinator.store
    group = store.get_or_create(GROUP)
    tp, offset = TopicPartition(TOPIC, 0), OffsetAndMetadata(offset=1, commit_timestamp=0)
    group.offsets.prepare_txn(producer.producer_id, {tp: offset})
    store._open_groups[producer.producer_id] = {GROUP}
    marker = a_marker(producer.producer_id, {GROUP_METADATA_TOPIC: [0], TOPIC: [0]})
    assert set(write_markers(broker, marker).values()) == {ErrorCode.NONE}
    assert group.offsets.is_pending(tp)


# --- deleted topics


def test_transaction_ends_without_the_marker_of_a_deleted_topic(
    broker: TransactionBroker, producer: Any
) -> None:
    broker.create_topic("gone", {0: (1,)})
    broker.lead("gone")
    broker.add(0, producer=producer, topic="gone")
    run(broker.zk.create_delete_topic_path("gone"))
    broker.react()
    assert broker.end(producer, is_commit=True) == ErrorCode.NONE
    assert broker.add(0, producer=producer) == [ErrorCode.NONE]


def test_topic_that_the_metadata_do_not_have_yet_is_waited_for(
    broker: TransactionBroker, producer: Any
) -> None:
    broker.add(0, producer=producer)
    broker.write(producer, b"a")
    known = broker.metadata_cache.snapshot
    broker.metadata_cache.snapshot = replace(
        known, topics={name: states for name, states in known.topics.items() if name != TOPIC}
    )
    assert broker.end(producer, is_commit=True) == ErrorCode.NONE
    broker.clock.advance(5)
    assert committed_offsets_of(broker.log_of(TOPIC)) == []
    broker.metadata_cache.snapshot = known
    broker.clock.advance(2)
    assert committed_offsets_of(broker.log_of(TOPIC)) == [0]
