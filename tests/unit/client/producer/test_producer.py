"""A whole producer on a fake cluster and a fake clock."""

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from kafkalike.client.async_producer import KafkaProducer
from kafkalike.client.producer.record_accumulator import ProducerClosedError
from kafkalike.client.serializers import SerializationError
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import (
    ErrorCode,
    InvalidRecordError,
    KafkaError,
    RecordTooLargeError,
    RequestTimedOutError,
    UnknownTopicOrPartitionError,
)
from kafkalike.protocol.messages.init_producer_id import InitProducerIdRequest
from kafkalike.protocol.messages.metadata import MetadataRequest
from kafkalike.protocol.messages.produce import ProduceRequest
from kafkalike.protocol.records.record_batch import iter_batches
from tests.support.client_cluster import FakeCluster

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster(brokers=3)
    cluster.add_topic("t", 1, 2)
    return cluster


def a_producer(cluster: FakeCluster, **configs: Any) -> KafkaProducer:
    servers = cluster.bootstrap_servers
    return KafkaProducer(reactor=cluster.reactor, bootstrap_servers=servers, **configs)


def values(cluster: FakeCluster, tp: TopicPartition = T0) -> list[bytes | None]:
    return [record.value for record in cluster.records(tp)]


def test_record_goes_to_the_leader_and_its_metadata_comes_back(cluster: FakeCluster) -> None:
    """M41: publishes to topics. M46: knows partition and broker by itself."""
    producer = a_producer(cluster)
    sent = producer.send_and_wait("t", b"v", key=b"k", headers=[("h", b"1")], partition=1)
    metadata = cluster.run(sent)
    assert (metadata.topic, metadata.partition, metadata.offset) == ("t", 1, 0)
    assert (metadata.serialized_key_size, metadata.serialized_value_size) == (1, 1)
    (record,) = cluster.records(T1)
    assert (record.key, record.value, list(record.headers)) == (b"k", b"v", [("h", b"1")])
    assert {broker for broker, r in cluster.requests if isinstance(r, ProduceRequest)} == {2}


def test_records_wait_for_each_other_while_they_linger(cluster: FakeCluster) -> None:
    producer = a_producer(cluster, linger_ms=50)
    for number in range(10):
        cluster.run(producer.send("t", b"%d" % number, partition=0))
    cluster.advance(40)
    assert not cluster.sent(ProduceRequest)
    cluster.advance(20)
    assert len(cluster.sent(ProduceRequest)) == 1
    assert values(cluster) == [b"%d" % number for number in range(10)]


def test_full_batch_does_not_linger(cluster: FakeCluster) -> None:
    producer = a_producer(cluster, linger_ms=60_000, batch_size=300)
    for _ in range(3):
        cluster.run(producer.send("t", b"x" * 100, partition=0))
    cluster.turn()
    assert len(values(cluster)) == 2


def test_flush_ends_the_lingering(cluster: FakeCluster) -> None:
    producer = a_producer(cluster, linger_ms=60_000)
    future = cluster.run(producer.send("t", b"v", partition=0))
    cluster.run(producer.flush(), within_ms=100)
    assert future.succeeded()


def test_leader_that_has_moved_is_found_again(cluster: FakeCluster) -> None:
    """M46: recovers from a broker failure by itself."""
    producer = a_producer(cluster)
    cluster.run(producer.send_and_wait("t", b"1", partition=0))
    cluster.move(T0, 3)
    metadata = cluster.run(producer.send_and_wait("t", b"2", partition=0))
    assert metadata.offset == 1
    assert [b for b, r in cluster.requests if isinstance(r, ProduceRequest)] == [1, 1, 3]


def test_broker_that_dies_in_between_is_survived(cluster: FakeCluster) -> None:
    """M46: kill leader under load; no error seen by the caller."""
    producer = a_producer(cluster)
    cluster.run(producer.send_and_wait("t", b"1", partition=0))
    cluster.hold.add(ApiKey.PRODUCE)
    future = cluster.run(producer.send("t", b"2", partition=0))
    cluster.turn()
    cluster.stop_broker(1)
    cluster.hold.clear()
    cluster.advance(500)
    assert not future.is_done
    cluster.move(T0, 2)
    cluster.advance(2000)
    assert future.get(0).offset == 1


def test_dead_bootstrap_server_is_passed_over(cluster: FakeCluster) -> None:
    """M46: one live bootstrap server is enough."""
    cluster.stop_broker(1)
    producer = a_producer(cluster)
    assert cluster.run(producer.send_and_wait("t", b"v", partition=1)).offset == 0


def test_error_that_does_not_pass_reaches_the_caller_at_once(cluster: FakeCluster) -> None:
    producer = a_producer(cluster)
    cluster.fail_next(ApiKey.PRODUCE, ErrorCode.INVALID_RECORD)
    with pytest.raises(InvalidRecordError, match="t-0"):
        cluster.run(producer.send_and_wait("t", b"v", partition=0))
    assert len(cluster.sent(ProduceRequest)) == 1


def test_record_is_given_up_after_the_delivery_timeout(cluster: FakeCluster) -> None:
    producer = a_producer(cluster, delivery_timeout_ms=1000, request_timeout_ms=300)
    cluster.run(producer.partitions_for("t"))
    cluster.fail_next(ApiKey.PRODUCE, *[ErrorCode.NOT_ENOUGH_REPLICAS] * 100)
    future = cluster.run(producer.send("t", b"v", partition=0))
    cluster.advance(1500)
    assert future.failed()
    cluster.turn()
    assert producer.accumulator.used_bytes == 0


def test_retries_are_bounded_by_their_number(cluster: FakeCluster) -> None:
    producer = a_producer(cluster, retries=2)
    cluster.fail_next(ApiKey.PRODUCE, *[ErrorCode.NOT_ENOUGH_REPLICAS] * 3)
    future = cluster.run(producer.send("t", b"v", partition=0))
    cluster.advance(2000)
    assert future.failed()
    assert len(cluster.sent(ProduceRequest)) == 3


def test_acks_zero_asks_for_no_answer(cluster: FakeCluster) -> None:
    producer = a_producer(cluster, acks=0)
    assert cluster.run(producer.send_and_wait("t", b"v", partition=0)).offset == -1
    cluster.turn()
    assert values(cluster) == [b"v"]


def test_idempotent_producer_numbers_its_batches(cluster: FakeCluster) -> None:
    producer = a_producer(cluster, enable_idempotence=True)
    for count in (1, 3):
        for _ in range(count):
            cluster.run(producer.send("t", b"v", partition=0))
        cluster.run(producer.flush())
    data = bytes(cluster.logs[T0])
    headers = [header for _, header in iter_batches(data)]
    assert {(h.producer_id, h.producer_epoch) for h in headers} == {(4000, 0)}
    assert headers[0].base_sequence == 0
    assert headers[-1].last_sequence == 3
    assert len(cluster.sent(InitProducerIdRequest)) == 1


def test_idempotent_order_survives_a_failure_in_the_middle(cluster: FakeCluster) -> None:
    producer = a_producer(cluster, enable_idempotence=True, batch_size=60)
    cluster.run(producer.send_and_wait("t", b"first", partition=0))
    refused, too_early = ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    # The first is refused, alone and then with four more behind it in flight.
    cluster.fail_next(ApiKey.PRODUCE, refused, refused, *[too_early] * 4)
    for number in range(6):
        cluster.run(producer.send("t", b"%d" % number * 30, partition=0))
    cluster.run(producer.flush())
    assert values(cluster) == [b"first", *(b"%d" % number * 30 for number in range(6))]


def test_lost_sequence_goes_on_under_a_new_epoch(cluster: FakeCluster) -> None:
    producer = a_producer(cluster, enable_idempotence=True)
    cluster.run(producer.send_and_wait("t", b"1", partition=0))
    cluster.fail_next(ApiKey.PRODUCE, ErrorCode.UNKNOWN_PRODUCER_ID)
    assert cluster.run(producer.send_and_wait("t", b"2", partition=0)).offset == 1
    *_, (_, header) = iter_batches(bytes(cluster.logs[T0]))
    assert (header.producer_epoch, header.base_sequence) == (1, 0)


def test_batch_that_is_too_large_is_split(cluster: FakeCluster) -> None:
    producer = a_producer(cluster, linger_ms=10)
    cluster.fail_next(ApiKey.PRODUCE, ErrorCode.MESSAGE_TOO_LARGE)
    futures = [cluster.run(producer.send("t", b"%d" % n, partition=0)) for n in range(5)]
    cluster.run(producer.flush())
    assert [future.get(0).offset for future in futures] == [0, 1, 2, 3, 4]
    assert values(cluster) == [b"0", b"1", b"2", b"3", b"4"]
    assert producer.accumulator.used_bytes == 0


def test_full_buffer_holds_the_sender_back_until_there_is_room(cluster: FakeCluster) -> None:
    producer = a_producer(cluster, buffer_memory=1000, batch_size=400)
    cluster.run(producer.partitions_for("t"))
    cluster.hold.add(ApiKey.PRODUCE)
    sent = [cluster.run(producer.send("t", b"x" * 200, partition=0)) for _ in range(4)]
    waiting = producer.send("t", b"x" * 200, partition=0)
    fifth = Deferred.fromCoroutine(waiting)
    cluster.advance(100)
    assert not fifth.called
    cluster.release()
    future = cluster.finish(fifth)
    cluster.run(producer.flush())
    assert future.get(0).offset == 4
    assert all(one.succeeded() for one in sent)


def test_full_buffer_is_an_error_after_max_block(cluster: FakeCluster) -> None:
    producer = a_producer(cluster, buffer_memory=300, max_block_ms=500)
    cluster.run(producer.partitions_for("t"))
    cluster.hold.add(ApiKey.PRODUCE)
    cluster.run(producer.send("t", b"x" * 200, partition=0))
    with pytest.raises(RequestTimedOutError, match="no room"):
        cluster.run(producer.send("t", b"x" * 200, partition=0))


def test_topic_that_does_not_exist_is_an_error_after_max_block(cluster: FakeCluster) -> None:
    producer = a_producer(cluster, max_block_ms=1000)
    with pytest.raises(RequestTimedOutError, match="nowhere"):
        cluster.run(producer.send("nowhere", b"v"))
    assert cluster.reactor.seconds() < 3


def test_partition_that_does_not_exist_is_an_error(cluster: FakeCluster) -> None:
    producer = a_producer(cluster, max_block_ms=500)
    with pytest.raises(UnknownTopicOrPartitionError, match="2 partitions"):
        cluster.run(producer.send("t", b"v", partition=7))


def test_record_larger_than_a_request_is_refused(cluster: FakeCluster) -> None:
    producer = a_producer(cluster, max_request_size=1000)
    with pytest.raises(RecordTooLargeError, match="max_request_size"):
        cluster.run(producer.send("t", b"x" * 2000))


def test_callbacks_get_metadata_or_error(cluster: FakeCluster) -> None:
    producer = a_producer(cluster)
    told: list[Any] = []
    good = cluster.run(producer.send("t", b"v", partition=0))
    good.add_callback(told.append).add_errback(told.append)
    cluster.run(producer.flush())
    cluster.fail_next(ApiKey.PRODUCE, ErrorCode.INVALID_RECORD)
    bad = cluster.run(producer.send("t", b"v", partition=0))
    bad.add_callback(told.append).add_errback(told.append)
    cluster.run(producer.flush())
    assert told[0].offset == 0
    assert isinstance(told[1], InvalidRecordError)


def test_interceptors_see_records_and_outcomes(cluster: FakeCluster) -> None:
    seen: list[Any] = []

    class Stamp:
        def on_send(self, record: Any) -> Any:
            return record._replace(headers=[("stamp", b"1")])

        def on_acknowledgement(self, metadata: Any, error: Any) -> None:
            seen.append((metadata.offset, error))

    producer = a_producer(cluster, interceptors=[Stamp])
    cluster.run(producer.send_and_wait("t", b"v", partition=0))
    assert list(cluster.records(T0)[0].headers) == [("stamp", b"1")]
    assert seen == [(0, None)]


def test_close_sends_what_waits_and_refuses_the_rest(cluster: FakeCluster) -> None:
    producer = a_producer(cluster, linger_ms=60_000)
    cluster.run(producer.send("t", b"v", partition=0))
    cluster.run(producer.close())
    assert values(cluster) == [b"v"]
    with pytest.raises(ProducerClosedError):
        cluster.run(producer.send("t", b"v"))


def test_close_gives_up_after_its_time(cluster: FakeCluster) -> None:
    producer = a_producer(cluster)
    cluster.run(producer.partitions_for("t"))
    cluster.hold.add(ApiKey.PRODUCE)
    cluster.leaders[T1] = -1
    cluster.run(producer.client.metadata.refresh())
    future = cluster.run(producer.send("t", b"v", partition=1))
    cluster.run(producer.close(timeout_ms=200))
    assert isinstance(future.exception, ProducerClosedError)


def test_metadata_grows_old(cluster: FakeCluster) -> None:
    producer = a_producer(cluster, metadata_max_age_ms=1000)
    cluster.run(producer.send_and_wait("t", b"v", partition=0))
    before = len(cluster.sent(MetadataRequest))
    cluster.advance(2500)
    assert len(cluster.sent(MetadataRequest)) == before + 2


def test_older_leader_epoch_is_not_believed(cluster: FakeCluster) -> None:
    producer = a_producer(cluster)
    cluster.epochs[T0] = 5
    cluster.run(producer.client.metadata.topic("t", 1000))
    cluster.epochs[T0], cluster.leaders[T0] = 4, 3
    snapshot = cluster.run(producer.client.metadata.refresh())
    leader = snapshot.leader(T0)
    assert leader is not None
    assert leader.id == 1


def test_interceptor_is_told_of_a_record_that_could_not_be_queued(cluster: FakeCluster) -> None:
    seen: list[Any] = []

    class Watch:
        def on_acknowledgement(self, metadata: Any, error: Any) -> None:
            seen.append((metadata, type(error)))

    producer = a_producer(cluster, interceptors=[Watch], max_request_size=1000)
    with pytest.raises(RecordTooLargeError):
        cluster.run(producer.send("t", b"x" * 2000))
    assert seen == [(None, RecordTooLargeError)]


def test_part_of_a_split_batch_that_fails_leaves_the_other_records_alone(
    cluster: FakeCluster,
) -> None:
    producer = a_producer(cluster, linger_ms=10, max_in_flight_requests_per_connection=1)
    cluster.fail_next(ApiKey.PRODUCE, ErrorCode.MESSAGE_TOO_LARGE, 0, ErrorCode.INVALID_RECORD)
    told: list[Any] = []
    futures = [cluster.run(producer.send("t", b"%d" % n, partition=0)) for n in range(4)]
    for future in futures:
        future.add_both(lambda result: told.append(type(result).__name__))
    cluster.run(producer.flush())
    assert [future.succeeded() for future in futures] == [True, True, False, False]
    assert [future.value is None for future in futures] == [False, False, True, True]
    assert told == ["RecordMetadata"] * 2 + ["InvalidRecordError"] * 2


def test_parts_of_a_split_batch_keep_its_numbers(cluster: FakeCluster) -> None:
    producer = a_producer(cluster, linger_ms=10, enable_idempotence=True)
    cluster.run(producer.send_and_wait("t", b"first", partition=0))
    cluster.fail_next(ApiKey.PRODUCE, ErrorCode.MESSAGE_TOO_LARGE)
    for number in range(4):
        cluster.run(producer.send("t", b"%d" % number, partition=0))
    cluster.run(producer.flush())
    headers = [header for _, header in iter_batches(bytes(cluster.logs[T0]))]
    numbers = [(h.producer_epoch, h.base_sequence, h.record_count) for h in headers]
    assert numbers == [(0, 0, 1), (0, 1, 2), (0, 3, 2)]


def test_record_in_flight_when_the_producer_is_closed_has_an_outcome(cluster: FakeCluster) -> None:
    producer = a_producer(cluster)
    cluster.run(producer.partitions_for("t"))
    cluster.hold.add(ApiKey.PRODUCE)
    future = cluster.run(producer.send("t", b"v", partition=0))
    cluster.run(producer.close(timeout_ms=200))
    assert isinstance(future.exception, ProducerClosedError)


def test_record_that_a_thread_queues_too_late_is_refused(cluster: FakeCluster) -> None:
    producer = a_producer(cluster)
    topic = cluster.run(producer.topic("t", None))
    record, size = producer.make_record("t", b"v", None, None, None)
    cluster.run(producer.close())
    with pytest.raises(ProducerClosedError):
        producer.append(topic, 0, record, size)


@pytest.mark.parametrize(
    "bad",
    [
        {"headers": [("h", "text")]},
        {"headers": [(b"h", b"1")]},
        {"headers": ["h"]},
        {"key": "text"},
    ],
)
def test_record_that_cannot_be_encoded_harms_no_other(
    cluster: FakeCluster, bad: dict[str, Any]
) -> None:
    producer = a_producer(cluster, linger_ms=10)
    good = cluster.run(producer.send("t", b"good", partition=0))
    with pytest.raises(SerializationError, match="topic t"):
        cluster.run(producer.send("t", b"bad", partition=0, **bad))
    cluster.run(producer.flush())
    assert good.succeeded()


def test_serialiser_that_makes_no_bytes_is_named(cluster: FakeCluster) -> None:
    producer = a_producer(cluster, value_serializer=str)
    with pytest.raises(SerializationError, match="made no bytes"):
        cluster.run(producer.send("t", 1))


def test_batch_that_cannot_be_encoded_fails_and_nobody_waits_for_ever(cluster: FakeCluster) -> None:
    producer = a_producer(cluster)
    future = cluster.run(producer.send("t", b"v", partition=0, timestamp_ms=1 << 80))
    cluster.run(producer.flush())
    with pytest.raises(KafkaError, match="cannot be encoded"):
        future.get(0)
    assert cluster.run(producer.send_and_wait("t", b"v", partition=0)).offset == 0


def test_slow_broker_holds_back_a_producer_that_wants_no_answers(cluster: FakeCluster) -> None:
    producer = a_producer(cluster, acks=0)
    cluster.run(producer.send_and_wait("t", b"1", partition=0))
    (transport,) = [c for c in cluster.connections if c.producer is not None]
    transport.producer.pauseProducing()
    waiting = cluster.run(producer.send("t", b"2", partition=0))
    cluster.advance(1000)
    assert not waiting.is_done
    assert values(cluster) == [b"1"]
    transport.producer.resumeProducing()
    cluster.run(producer.flush())
    assert values(cluster) == [b"1", b"2"]


def test_metrics_count_what_was_sent(cluster: FakeCluster) -> None:
    producer = a_producer(cluster, linger_ms=10)
    cluster.fail_next(ApiKey.PRODUCE, ErrorCode.NOT_ENOUGH_REPLICAS)
    for _ in range(3):
        cluster.run(producer.send("t", b"v", partition=0))
    cluster.run(producer.flush())
    metrics = producer.metrics()
    assert metrics["record-retry-total"] == 1
    assert metrics["record-error-total"] == 0
    assert metrics["batch-size-avg"] == metrics["record-byte-total"] / metrics["batch-send-total"]
    assert metrics["buffer-available-bytes"] == producer.config.buffer_memory
