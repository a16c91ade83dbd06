"""Fetch, version by version: formats, sizes, waiting and errors."""

import time
from collections.abc import Iterator

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.fetch import FetchPartition
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.record import Record
from kafkalike.protocol.records.record_batch import iter_batches
from kafkalike.protocol.records.record_reader import iter_all_records
from tests.support import wire
from tests.support.target import Target

TIME_MS = 1_600_000_000_000
VERSIONS = range(13)
READ_COMMITTED = 1
PATIENCE_MS = 25_000  # Longer than any test needs: an answer before it was not made by the clock.


@pytest.fixture(scope="module")
def client(target: Target) -> Iterator[SimpleClient]:
    with target.connect() as connection:
        yield connection


def _magic_of(version: int) -> int:
    return 0 if version < 2 else 1 if version < 4 else 2


@pytest.fixture(scope="module")
def mixed_topic(client: SimpleClient) -> str:
    """Batches of four codecs, with keys, nulls and headers: 3 records each."""
    topic = wire.create_topic(client, "mixed", configs=wire.KEPT_FOREVER)
    for codec in CompressionType:
        if codec is CompressionType.ZSTD:
            continue
        builder = BatchBuilder(compression=codec)
        builder.append(TIME_MS, b"key", b"a" * 300, [("name", b"value")])
        builder.append(TIME_MS + 1, None, b"")
        builder.append(TIME_MS + 2, b"gone", None)
        assert wire.produce(client, topic, builder.build()).error_code == ErrorCode.NONE
    return topic


@pytest.mark.parametrize("start", [0, 4, 11])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_reads_in_its_own_format(
    client: SimpleClient, mixed_topic: str, version: int, start: int
) -> None:
    """Old versions get old messages: formats 0 and 1 know no headers, 0 no timestamps."""
    magic = _magic_of(version)
    found: list[Record] = []
    # An answer is never longer than what lies in the log; so an old format may need another one.
    while (position := start + len(found)) < 12:
        answer = wire.fetch(client, mixed_topic, position, version)
        assert (answer.error_code, answer.high_watermark) == (ErrorCode.NONE, 12)
        assert {header.magic for _, header in iter_batches(answer.record_set)} == {magic}
        records = list(iter_all_records(bytes(answer.record_set)))
        assert records
        found += [record for record in records if record.offset >= position]
    assert [record.offset for record in found] == list(range(start, 12))
    for record in found:
        key, value, headers = _expected(record.offset, magic)
        assert (record.key, record.value, list(record.headers)) == (key, value, headers)
        assert record.timestamp == (TIME_MS + record.offset % 3 if magic else -1)


def _expected(
    offset: int, magic: int
) -> tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]]:
    headers = [("name", b"value")] if magic == 2 else []
    return [(b"key", b"a" * 300, headers), (None, b"", []), (b"gone", None, [])][offset % 3]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_tells_the_offsets_it_can(
    client: SimpleClient, mixed_topic: str, version: int
) -> None:
    answer = wire.fetch(client, mixed_topic, 3, version)
    assert answer.last_stable_offset == (12 if version >= 4 else -1)
    assert answer.log_start_offset == (0 if version >= 5 else -1)
    assert answer.preferred_read_replica == -1
    assert answer.aborted_transactions is None or version < 4


def test_reading_committed_records_tells_aborted_transactions(
    client: SimpleClient, mixed_topic: str
) -> None:
    answer = wire.fetch(client, mixed_topic, 0, isolation_level=READ_COMMITTED)
    assert answer.aborted_transactions == []


def test_zstd_needs_version_10(client: SimpleClient) -> None:
    """Where the topic is set to it; what producers compressed so is their own affair."""
    topic = wire.create_topic(client, configs={"compression.type": "zstd"})
    wire.produce(client, topic, wire.batch(b"x" * 99))
    for version in (0, 3, 4, 9):
        answer = wire.fetch(client, topic, 0, version)
        assert answer.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert len(wire.fetch_records(client, topic, 0, 10)) == 1


@pytest.mark.parametrize("version", [0, 3])
def test_old_versions_read_up_to_the_first_zstd_batch(client: SimpleClient, version: int) -> None:
    """What comes before can be had in an old format; from there on it is an error."""
    topic = wire.create_topic(client)
    for codec in (CompressionType.GZIP, CompressionType.NONE, CompressionType.ZSTD):
        wire.produce(client, topic, wire.batch(b"x" * 99, compression=codec))
    position = 0
    while position < 2:
        records = wire.fetch_records(client, topic, position, version)
        assert records[0].offset == position
        position = records[-1].offset + 1
    answer = wire.fetch(client, topic, 2, version)
    assert answer.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert len(wire.fetch_records(client, topic, 0, 4)) == 3


@pytest.mark.parametrize(("format_version", "magic"), [("0.9.0", 0), ("0.10.2", 1), ("2.8", 2)])
def test_topic_may_keep_an_old_format(
    client: SimpleClient, format_version: str, magic: int
) -> None:
    configs = {"message.format.version": format_version, **wire.KEPT_FOREVER}
    topic = wire.create_topic(client, configs=configs)
    for sent in (0, 1, 2):
        records = wire.batch(b"one", b"two", timestamp=TIME_MS, magic=sent)
        version = 2 if sent < 2 else 9
        assert wire.produce(client, topic, records, version=version).error_code == 0
    answer = wire.fetch(client, topic, 0)
    assert {header.magic for _, header in iter_batches(answer.record_set)} == {magic}
    values = [record.value for record in iter_all_records(bytes(answer.record_set))]
    assert values == [b"one", b"two"] * 3


@pytest.mark.parametrize("offset", [-1, 13, 1 << 40])
def test_offset_outside_the_log_is_out_of_range(
    client: SimpleClient, mixed_topic: str, offset: int
) -> None:
    answer = wire.fetch(client, mixed_topic, offset)
    assert answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (answer.record_set, answer.aborted_transactions) == (b"", None)


def test_end_of_the_log_is_in_range(client: SimpleClient, mixed_topic: str) -> None:
    answer = wire.fetch(client, mixed_topic, 12, max_wait_ms=0)
    assert (answer.error_code, len(answer.record_set)) == (ErrorCode.NONE, 0)


def test_partition_that_is_not_there_is_unknown(client: SimpleClient, mixed_topic: str) -> None:
    for topic, partition in ((mixed_topic, 1), ("never-created", 0)):
        answer = wire.fetch(client, topic, 0, partition=partition)
        assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert (answer.high_watermark, answer.aborted_transactions) == (-1, None)


def test_leader_epoch_from_the_future_is_unknown(client: SimpleClient, mixed_topic: str) -> None:
    request = wire.fetch_request(mixed_topic, 0)
    for epoch, error in ((0, ErrorCode.NONE), (9, ErrorCode.UNKNOWN_LEADER_EPOCH)):
        request.topics[0].partitions[0].current_leader_epoch = epoch
        ((answer,),) = (t.partition_responses for t in client.send(request).responses)
        assert answer.error_code == error


def test_fetch_waits_until_its_time_is_up(client: SimpleClient) -> None:
    topic = wire.create_topic(client)
    started = time.monotonic()
    assert wire.fetch_records(client, topic, max_wait_ms=400) == []
    assert time.monotonic() - started >= 0.4


def test_fetch_is_woken_by_an_append(target: Target, client: SimpleClient) -> None:
    """M52: the consumer asks first, and the broker answers when there is something."""
    topic = wire.create_topic(client)
    waiting = client.send_only(wire.fetch_request(topic, 0, max_wait_ms=PATIENCE_MS))
    with target.connect() as another:
        wire.append(another, topic, b"news")
    ((answer,),) = (
        t.partition_responses for t in client.receive(ApiKey.FETCH, 12, waiting).responses
    )
    assert [record.value for record in iter_all_records(bytes(answer.record_set))] == [b"news"]


def test_fetch_waits_for_min_bytes(target: Target, client: SimpleClient) -> None:
    topic = wire.create_topic(client)
    request = wire.fetch_request(topic, 0, max_wait_ms=PATIENCE_MS, min_bytes=1000)
    waiting = client.send_only(request)
    with target.connect() as another:
        for number in range(10):
            wire.append(another, topic, b"%100d" % number)
    ((answer,),) = (
        t.partition_responses for t in client.receive(ApiKey.FETCH, 12, waiting).responses
    )
    assert len(answer.record_set) >= 1000


def test_error_is_answered_at_once(client: SimpleClient) -> None:
    started = time.monotonic()
    answer = wire.fetch(client, "never-created", 0, max_wait_ms=PATIENCE_MS)
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert time.monotonic() - started < PATIENCE_MS / 1000


@pytest.fixture(scope="module")
def sized_topic(client: SimpleClient) -> str:
    """Two partitions of ten batches of 1,000 bytes each."""
    topic = wire.create_topic(client, "sized", partitions=2)
    overhead = len(wire.batch(bytes(500))) - 500
    for partition in (0, 1):
        for _ in range(10):
            records = wire.batch(bytes(1000 - overhead))
            assert len(records) == 1000
            wire.produce(client, topic, records, partition=partition)
    return topic


@pytest.mark.parametrize(
    ("limit", "size"), [(2500, 2500), (1000, 1000), (10, 1000), (0, 1000), (1 << 20, 10_000)]
)
def test_partition_is_cut_at_its_limit_but_has_one_whole_batch(
    client: SimpleClient, sized_topic: str, limit: int, size: int
) -> None:
    """KIP-74: a consumer can always go on, however small its limit is."""
    answer = wire.fetch(client, sized_topic, 0, partition_max_bytes=limit)
    assert len(answer.record_set) == size


def test_old_versions_cut_even_the_first_batch(client: SimpleClient, sized_topic: str) -> None:
    answer = wire.fetch(client, sized_topic, 0, 2, partition_max_bytes=100)
    assert len(answer.record_set) <= 100


@pytest.mark.parametrize(
    ("max_bytes", "sizes"), [(100, [1000, 0]), (3500, [3500, 0]), (12_000, [10_000, 2000])]
)
def test_answer_is_cut_at_its_limit(
    client: SimpleClient, sized_topic: str, max_bytes: int, sizes: list[int]
) -> None:
    """The first partition that has records may exceed it, the others share what is left."""
    request = wire.fetch_request(sized_topic, 0, max_bytes=max_bytes)
    other = FetchPartition(partition=1, fetch_offset=0, partition_max_bytes=1 << 20)
    request.topics[0].partitions.append(other)
    (answer,) = client.send(request).responses
    assert [len(p.record_set) for p in answer.partition_responses] == sizes


def test_records_come_from_the_middle_of_the_log(client: SimpleClient, sized_topic: str) -> None:
    """M54: any offset is found, through the index."""
    for start in range(10):
        found = wire.fetch_records(client, sized_topic, start)
        assert [record.offset for record in found] == list(range(start, 10))
