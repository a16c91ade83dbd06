"""Clients read from any offset and from any time, and know where a partition begins and ends."""

import pytest

from kafkalike.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkalike.protocol.records.batch_builder import BatchBuilder
from tests.support import wire
from tests.support.clients.all_clients import NAMES, client_or_skip
from tests.support.clients.kcat import KcatClient
from tests.support.clients.message import CREATE_TIME_MS
from tests.support.target import Target

BATCHES, PER_BATCH = 20, 10
END = BATCHES * PER_BATCH
SLOW = "java-console"  # A JVM for each call: it tries a few positions only.
FIRST = 25  # DeleteRecords cut the partition here, in the middle of a batch.


@pytest.fixture(scope="module")
def topic(target: Target) -> str:
    """200 records in batches of 10, one a second by their timestamps; the first 25 are deleted."""
    with target.connect() as connection:
        name = wire.create_topic(connection, "positions", configs=wire.KEPT_FOREVER)
        for start in range(0, END, PER_BATCH):
            builder = BatchBuilder()
            for number in range(start, start + PER_BATCH):
                builder.append(_time_of(number), None, _value_of(number))
            assert wire.produce(connection, name, builder.build()).base_offset == start
        partition = DeleteRecordsPartition(partition_index=0, offset=FIRST)
        request = DeleteRecordsRequest(
            topics=[DeleteRecordsTopic(name=name, partitions=[partition])], timeout_ms=10_000
        )
        ((answer,),) = (t.partitions for t in connection.send(request).topics)
        assert (answer.error_code, answer.low_watermark) == (0, FIRST)
    return name


def _time_of(number: int) -> int:
    return CREATE_TIME_MS + number * 1000


def _value_of(number: int) -> bytes:
    return b"record %d" % number


@pytest.mark.parametrize(
    ("reader", "start"),
    [
        (reader, start)
        for reader in NAMES
        for start in ((None, 77) if reader == SLOW else (None, FIRST, 77, 110, END - 1))
    ],
)
def test_consumption_starts_at_any_offset(
    target: Target, topic: str, reader: str, start: int | None
) -> None:
    """M54: from there on every record comes, in order and once."""
    expected = range(FIRST if start is None else start, END)
    client = client_or_skip(reader)
    received = client.consume(target.bootstrap_servers, topic, len(expected), start)
    assert [record.offset for record in received] == list(expected)
    assert [record.value for record in received] == [_value_of(number) for number in expected]
    assert [record.timestamp for record in received] == [_time_of(number) for number in expected]


@pytest.mark.parametrize("reader", NAMES)
def test_earliest_and_latest_offset_are_known(target: Target, topic: str, reader: str) -> None:
    client = client_or_skip(reader)
    assert client.offset_range(target.bootstrap_servers, topic) == (FIRST, END)


TIMES = {
    "before the first": (_time_of(0), FIRST),
    "exact": (_time_of(77), 77),
    "between two": (_time_of(77) + 1, 78),
    "the last": (_time_of(END - 1), END - 1),
    "after the last": (_time_of(END - 1) + 1, None),
}


@pytest.mark.parametrize(
    ("reader", "timestamp", "offset"),
    [
        pytest.param(reader, *TIMES[name], id=f"{reader}-{name}")
        for reader in NAMES
        for name in (("between two", "after the last") if reader == SLOW else TIMES)
    ],
)
def test_time_leads_to_an_offset(
    target: Target, topic: str, reader: str, timestamp: int, offset: int | None
) -> None:
    """M5: the time index answers ListOffsets."""
    client = client_or_skip(reader)
    assert client.offset_for_time(target.bootstrap_servers, topic, timestamp) == offset


def test_kcat_consumes_from_a_time_on(target: Target, topic: str) -> None:
    client_or_skip("kcat")
    received = KcatClient().consume_from_time(
        target.bootstrap_servers, topic, 5, _time_of(120) - 999
    )
    assert [record.offset for record in received] == [120, 121, 122, 123, 124]
