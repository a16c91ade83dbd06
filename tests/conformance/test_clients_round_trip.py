"""What one client writes every other reads identically, with every codec."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import pytest

from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.record_batch import iter_batches
from tests.support import wire
from tests.support.clients.all_clients import NAMES, client_or_skip
from tests.support.clients.message import CODECS, SAMPLE, Message, Received
from tests.support.target import Target


class Written(NamedTuple):
    """A topic, what a client was told to write to it, and when it did."""

    topic: str
    messages: list[Message]
    codecs: list[str]
    started_ms: int
    ended_ms: int


@pytest.fixture(scope="module")
def written_by(target: Target) -> Callable[[str], Written]:
    """Let a client write all it can with every codec, once for all tests."""

    @functools.cache
    def write(name: str) -> Written:
        client = client_or_skip(name)
        messages = [message for message in SAMPLE if client.can_write(message)]
        with target.connect() as connection:
            topic = wire.create_topic(connection, f"written-by-{name}", configs=wire.KEPT_FOREVER)
        started_ms = wire.now_ms()
        for codec in CODECS:
            client.produce(target.bootstrap_servers, topic, messages, codec)
        codecs = [codec for codec in CODECS for _ in messages]
        return Written(topic, messages * len(CODECS), codecs, started_ms, wire.now_ms())

    return write


@pytest.mark.parametrize("reader", NAMES)
@pytest.mark.parametrize("writer", NAMES)
def test_what_one_client_writes_another_reads_identically(
    target: Target, written_by: Callable[[str], Written], writer: str, reader: str
) -> None:
    """M10, M17, M52, M54: keys, values and headers are opaque bytes, read in order by pulling."""
    client = client_or_skip(reader)
    written = written_by(writer)
    received = client.consume(target.bootstrap_servers, written.topic, len(written.messages))
    _assert_same(written, received)


@pytest.mark.parametrize("writer", NAMES)
def test_batches_keep_the_codec_of_their_producer(
    target: Target, written_by: Callable[[str], Written], writer: str
) -> None:
    written = written_by(writer)
    with target.connect() as connection:
        found = _codecs_by_offset(connection, written.topic)
    assert len(found) == len(written.messages)
    for codec in CODECS:
        pairs = zip(found, written.codecs, strict=True)
        mine = {shown for shown, wanted in pairs if wanted == codec}
        # librdkafka sends a batch as it is when compression would only make it longer.
        assert codec in mine
        assert mine <= {codec, "none"}


def _codecs_by_offset(connection: wire.SimpleClient, topic: str) -> list[str]:
    codecs: list[str] = []
    end = wire.list_offset(connection, topic, wire.LATEST)
    while len(codecs) < end:
        answer = wire.fetch(connection, topic, len(codecs), partition_max_bytes=8 << 20)
        for _, header in iter_batches(answer.record_set):
            codec = CompressionType(header.compression_type).name.lower()
            codecs += [codec] * (header.next_offset - len(codecs))
    return codecs


def _assert_same(written: Written, received: list[Received]) -> None:
    assert [record.offset for record in received] == list(range(len(written.messages)))
    for message, record in zip(written.messages, received, strict=True):
        assert (record.key, record.value) == (message.key, message.value)
        assert record.headers == message.headers
        if message.timestamp is None:
            assert written.started_ms <= record.timestamp <= written.ended_ms
        else:
            assert record.timestamp == message.timestamp
