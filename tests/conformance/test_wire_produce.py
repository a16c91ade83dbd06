"""Produce, version by version: formats, topic settings, and what is refused with which error."""

from collections.abc import Iterator

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.legacy_message_set import encode_message
from kafkalike.protocol.records.record import TimestampType
from kafkalike.protocol.records.record_batch import iter_batches, parse_batch_header
from tests.support import wire
from tests.support.target import Target

VALUES = [b"first", b"", None, b"x" * 2000]
HOUR_MS = 3_600_000
# Which message formats a version of Produce may carry.
FORMATS = {0: (0, 1), 1: (0, 1), 2: (0, 1), **dict.fromkeys(range(3, 10), (2,))}
OLD_CODECS = (CompressionType.NONE, CompressionType.GZIP, CompressionType.SNAPPY)


@pytest.fixture(scope="module")
def client(target: Target) -> Iterator[SimpleClient]:
    with target.connect() as connection:
        yield connection


@pytest.mark.parametrize(
    ("version", "magic"), [(version, magic) for version in FORMATS for magic in FORMATS[version]]
)
def test_every_version_appends(client: SimpleClient, version: int, magic: int) -> None:
    """M48: formats 0 and 1 are converted up, and an answer with acks=1 says where they lie."""
    topic = wire.create_topic(client)
    for base, codec in zip((0, 4, 8), OLD_CODECS, strict=True):
        records = wire.batch(*VALUES, timestamp=wire.now_ms(), magic=magic, compression=codec)
        answer = wire.produce(client, topic, records, version=version)
        assert (answer.error_code, answer.base_offset) == (ErrorCode.NONE, base)
        assert answer.log_append_time_ms == -1
        assert answer.log_start_offset == (0 if version >= 5 else -1)
    found = wire.fetch_records(client, topic)
    assert [record.value for record in found] == VALUES * 3
    assert [record.offset for record in found] == list(range(12))
    headers = [header for _, header in iter_batches(wire.fetch(client, topic, 0).record_set)]
    assert {header.magic for header in headers} == {2}
    assert {header.compression_type for header in headers} == set(OLD_CODECS)


@pytest.mark.parametrize("version", [3, 9])
@pytest.mark.parametrize(
    ("records", "error"),
    [
        (wire.batch(b"old", magic=1), ErrorCode.INVALID_RECORD),
        (wire.batch(b"one") + wire.batch(b"two"), ErrorCode.INVALID_RECORD),
        (b"", ErrorCode.INVALID_RECORD),
        (wire.batch(b"value")[:-1] + b"?", ErrorCode.CORRUPT_MESSAGE),
    ],
    ids=["old format", "two batches", "no batch", "wrong checksum"],
)
def test_bad_records_are_refused(
    client: SimpleClient, version: int, records: bytes, error: ErrorCode
) -> None:
    topic = wire.create_topic(client)
    answer = wire.produce(client, topic, records, version=version)
    assert ErrorCode(answer.error_code) is error
    assert answer.base_offset == -1
    assert wire.list_offset(client, topic, wire.LATEST) == 0


def test_zstd_needs_version_7(client: SimpleClient) -> None:
    topic = wire.create_topic(client)
    records = wire.batch(b"x" * 100, compression=CompressionType.ZSTD)
    refused = wire.produce(client, topic, records, version=6)
    assert refused.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert wire.produce(client, topic, records, version=7).error_code == ErrorCode.NONE


def test_partition_that_is_not_there_is_unknown(client: SimpleClient) -> None:
    topic = wire.create_topic(client)
    for name, partition in ((topic, 1), ("never-created", 0)):
        answer = wire.produce(client, name, wire.batch(b"value"), partition=partition)
        assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("acks", [2, -2])
def test_acks_are_0_1_or_all(client: SimpleClient, acks: int) -> None:
    topic = wire.create_topic(client)
    answer = wire.produce(client, topic, wire.batch(b"value"), acks=acks)
    assert answer.error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert wire.list_offset(client, topic, wire.LATEST) == 0


@pytest.mark.parametrize("acks", [1, -1])
def test_answer_comes_when_the_leader_has_written(client: SimpleClient, acks: int) -> None:
    """M48: what is acknowledged is there to be read."""
    topic = wire.create_topic(client)
    assert wire.produce(client, topic, wire.batch(b"a", b"b"), acks=acks).base_offset == 0
    assert [record.value for record in wire.fetch_records(client, topic)] == [b"a", b"b"]


def test_append_time_is_the_brokers(client: SimpleClient) -> None:
    topic = wire.create_topic(client, configs={"message.timestamp.type": "LogAppendTime"})
    before = wire.now_ms()
    answer = wire.produce(client, topic, wire.batch(b"a", b"b", timestamp=1))
    assert before <= answer.log_append_time_ms <= wire.now_ms()
    (_, header) = next(iter_batches(wire.fetch(client, topic, 0).record_set))
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    times = {record.timestamp for record in wire.fetch_records(client, topic)}
    assert times == {answer.log_append_time_ms}


def test_create_time_is_kept_unless_it_differs_too_much(client: SimpleClient) -> None:
    limit = {"message.timestamp.difference.max.ms": str(HOUR_MS)}
    topic = wire.create_topic(client, configs=limit)
    now = wire.now_ms()
    assert wire.produce(client, topic, wire.batch(b"ok", timestamp=now - 1000)).error_code == 0
    for timestamp in (now - 2 * HOUR_MS, now + 2 * HOUR_MS):
        builder = BatchBuilder()
        builder.append(now, None, b"fine")
        builder.append(timestamp, None, b"too far away")
        answer = wire.produce(client, topic, builder.build())
        assert answer.error_code == ErrorCode.INVALID_TIMESTAMP
        assert [error.batch_index for error in answer.record_errors] == [1]
        assert answer.error_message
    assert [record.timestamp for record in wire.fetch_records(client, topic)] == [now - 1000]


def test_negative_time_of_an_old_message_is_none(client: SimpleClient) -> None:
    topic = wire.create_topic(client, configs={"message.format.version": "0.10.2"})
    message = encode_message(0, 1, -17, None, b"value")
    assert wire.produce(client, topic, message, version=2).error_code == ErrorCode.NONE
    (record,) = wire.fetch_records(client, topic)
    assert (record.timestamp, record.value) == (-1, b"value")
    (record,) = wire.fetch_records(client, topic, 0, 1)
    assert record.value == b"value"


def test_batch_larger_than_the_topic_allows_is_refused(client: SimpleClient) -> None:
    topic = wire.create_topic(client, configs={"max.message.bytes": "2000"})
    fitting = wire.batch(bytes(2000 - len(wire.batch(bytes(1000))) + 1000))
    assert len(fitting) == 2000
    too_large = wire.batch(bytes(2000))
    assert wire.produce(client, topic, fitting).error_code == ErrorCode.NONE
    assert wire.produce(client, topic, too_large).error_code == ErrorCode.MESSAGE_TOO_LARGE
    # What counts is the size after compression.
    zipped = wire.batch(bytes(5000), compression=CompressionType.GZIP)
    assert wire.produce(client, topic, zipped).error_code == ErrorCode.NONE


@pytest.mark.parametrize("wanted", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("sent", [CompressionType.NONE, CompressionType.GZIP], ids=str)
def test_topic_may_choose_the_codec(
    client: SimpleClient, wanted: str, sent: CompressionType
) -> None:
    topic = wire.create_topic(client, configs={"compression.type": wanted})
    values = [b"x" * 500, b"y" * 500, None]
    assert wire.produce(client, topic, wire.batch(*values, compression=sent)).error_code == 0
    header = parse_batch_header(wire.fetch(client, topic, 0).record_set)
    shown = header.compression_type.name.lower()
    assert shown == ("none" if wanted == "uncompressed" else wanted)
    assert [record.value for record in wire.fetch_records(client, topic)] == values


def test_compacted_topic_wants_keys(client: SimpleClient) -> None:
    topic = wire.create_topic(client, configs={"cleanup.policy": "compact"})
    answer = wire.produce(client, topic, wire.batch(b"no key"))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in answer.record_errors] == [0]


def test_headers_come_back_in_order(client: SimpleClient) -> None:
    topic = wire.create_topic(client)
    builder = BatchBuilder()
    headers = [("a", b"1"), ("", b""), ("a", None)]
    builder.append(wire.now_ms(), b"key", b"value", headers)
    assert wire.produce(client, topic, builder.build()).error_code == ErrorCode.NONE
    (record,) = wire.fetch_records(client, topic)
    assert list(record.headers) == headers


def test_partitions_of_one_request_are_answered_each(client: SimpleClient) -> None:
    topic = wire.create_topic(client, partitions=2)
    request = wire.produce_request(topic, wire.batch(b"good"), partition=1)
    bad = wire.produce_request(topic, wire.batch(b"bad"), partition=5)
    request.topic_data[0].partition_data += bad.topic_data[0].partition_data
    (answer,) = client.send(request).responses
    told = {p.index: ErrorCode(p.error_code) for p in answer.partition_responses}
    assert told == {1: ErrorCode.NONE, 5: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
