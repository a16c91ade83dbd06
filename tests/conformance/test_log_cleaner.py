"""Apache Kafka's cleaner and ours clean the same files: both leave the same records and batches.

Kafka writes a history and is kept from cleaning it; its files are copied, then both clean. What
Kafka has cleaned and what comes after is copied again for the next round.
"""

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.log import Log
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafkalike.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.record import Record
from kafkalike.protocol.records.record_batch import BatchHeader, iter_batches
from kafkalike.protocol.records.record_reader import iter_records
from tests.support import apache_kafka, wire
from tests.support.apache_kafka import ApacheKafka, ToolResult
from tests.support.log_builder import open_log
from tests.support.log_cleaning import clean
from tests.support.target import APACHE_KAFKA, Target
from tests.support.waiting import wait_until

pytestmark = pytest.mark.kafka

ROUNDS = 3
RATIO = "min.cleanable.dirty.ratio"
CONFIGS = {
    "cleanup.policy": "compact",
    "segment.bytes": "3000",
    "index.interval.bytes": "300",
    "delete.retention.ms": "0",
    RATIO: "1.0",  # Nothing is dirtier than that.
}
CODECS = [CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4, CompressionType.ZSTD]
FIRST_PRODUCER_ID = 7_000_000


class Kind(NamedTuple):
    """A kind of history, and what its topic needs for it."""

    configs: Mapping[str, str] = MappingProxyType({})
    codecs: tuple[CompressionType, ...] = (CompressionType.NONE,)
    has_transactions: bool = False
    is_rebuilt_alike: bool = True
    """Whether batches are the same to the byte: no two codecs compress alike."""
    tombstones_go: bool = True


KINDS = {
    "plain": Kind(),
    "transactions": Kind(has_transactions=True),
    "retained": Kind(
        {"delete.retention.ms": "3600000"}, has_transactions=True, tombstones_go=False
    ),
    "compact-delete": Kind({"cleanup.policy": "compact,delete"}),
    "compressed": Kind(codecs=tuple(CODECS), is_rebuilt_alike=False),
    "append-time": Kind({"message.timestamp.type": "LogAppendTime"}),
    "format-v0": Kind({"message.format.version": "0.9.0"}),
    "format-v1": Kind({"message.format.version": "0.10.2"}),
    "format-v1-gzip": Kind(
        {"message.format.version": "0.10.2"},
        codecs=(CompressionType.GZIP,),
        is_rebuilt_alike=False,
    ),
}


class History:
    """Writes keys, tombstones and transactions of a few producers to a topic, by chance."""

    def __init__(self, client: SimpleClient, topic: str, kind: Kind, seed: int) -> None:
        self._client = client
        self._topic = topic
        self._kind = kind
        self._random = Random(seed)
        self._sequences: dict[int, int] = {}
        self._open: set[int] = set()
        self._round = 0

    def write(self, batches: int) -> None:
        for value in (b"x", None):
            self._send(self._batch([(b"gone %d" % self._round, value)]))
        self._round += 1
        for _ in range(batches):
            if self._kind.has_transactions and self._random.random() < 0.7:
                self._write_in_transaction()
            else:
                self._send(self._batch())
        for producer_id in sorted(self._open):
            self._end(producer_id)
        # The last batches are in the active segment, with keys that nobody else has.
        for number in range(3):
            self._send(self._batch([(b"last %d" % number, b"x" * 900)]))

    def _pairs(self) -> list[tuple[bytes, bytes | None]]:
        pairs: list[tuple[bytes, bytes | None]] = []
        for _ in range(self._random.randrange(1, 6)):
            key = b"key %d" % self._random.randrange(25)
            value = self._random.randbytes(self._random.randrange(120))
            pairs.append((key, value if self._random.random() < 0.8 else None))
        return pairs

    def _batch(
        self, pairs: list[tuple[bytes, bytes | None]] | None = None, **options: Any
    ) -> bytes:
        builder = BatchBuilder(compression=self._random.choice(self._kind.codecs), **options)
        for key, value in pairs or self._pairs():
            later_ms = self._random.randrange(5000)
            has_headers = "message.format.version" not in self._kind.configs and later_ms % 3 == 0
            headers = [("h", b"x")] if has_headers else []
            builder.append(wire.now_ms() + later_ms, key, value, headers)
        return builder.build()

    def _write_in_transaction(self) -> None:
        producer_id = FIRST_PRODUCER_ID + self._random.randrange(6)
        if producer_id in self._open and self._random.random() < 0.4:
            self._end(producer_id)
            return
        pairs = self._pairs()
        sequence = self._sequences.get(producer_id, 0)
        self._sequences[producer_id] = sequence + len(pairs)
        batch = self._batch(
            pairs,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=True,
        )
        self._send(batch, transactional_id=f"txn-{producer_id}")
        self._open.add(producer_id)

    def _end(self, producer_id: int) -> None:
        self._open.discard(producer_id)
        marker = WritableTxnMarker(
            producer_id=producer_id,
            producer_epoch=0,
            transaction_result=self._random.random() < 0.5,
            topics=[WritableTxnMarkerTopic(name=self._topic, partition_indexes=[0])],
            coordinator_epoch=0,
        )
        (answer,) = self._client.send(WriteTxnMarkersRequest(markers=[marker])).markers
        assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE

    def _send(self, batch: bytes, **fields: Any) -> None:
        answer = wire.produce(self._client, self._topic, batch, acks=-1, **fields)
        assert answer.error_code == ErrorCode.NONE, ErrorCode(answer.error_code)


class Peer:
    """An Apache Kafka broker whose files can be looked at."""

    def __init__(self, kafka: ApacheKafka, log_dir: Path) -> None:
        self.target = Target(APACHE_KAFKA, kafka.ports[1])
        self.log_dir = log_dir

    def alter(self, client: SimpleClient, topic: str, key: str, value: str) -> None:
        config = AlterableConfig(name=key, config_operation=0, value=value)
        resource = AlterConfigsResource(resource_type=2, resource_name=topic, configs=[config])
        (answer,) = client.send(IncrementalAlterConfigsRequest(resources=[resource])).responses
        assert answer.error_code == ErrorCode.NONE

    def clean_offset(self, topic: str) -> int:
        checkpoint = self.log_dir / "cleaner-offset-checkpoint"
        lines = checkpoint.read_text().splitlines() if checkpoint.exists() else []
        found = [line.split()[2] for line in lines if line.startswith(f"{topic} 0 ")]
        return int(found[0]) if found else 0

    def copy(self, topic: str, to: Path) -> Path:
        """Copy the files of a topic and the cleaner's checkpoint, with their times."""
        shutil.copytree(
            self.log_dir / f"{topic}-0",
            to / f"{topic}-0",
            ignore=shutil.ignore_patterns("*.deleted"),
        )
        if (self.log_dir / "cleaner-offset-checkpoint").exists():
            shutil.copy(self.log_dir / "cleaner-offset-checkpoint", to)
        return to / f"{topic}-0"

    def clean(self, client: SimpleClient, topic: str, up_to: int) -> None:
        self.alter(client, topic, RATIO, "0.0")
        wait_until(lambda: self.clean_offset(topic) == up_to, 60, f"cleaning of {topic}")
        self.alter(client, topic, RATIO, "1.0")


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    if apache_kafka.apache_kafka_libs() is None:
        pytest.skip(apache_kafka.why_no_apache_kafka())
    directory = tmp_path_factory.mktemp("cleaned-by-kafka")
    properties = {"log.cleaner.backoff.ms": "100"}
    with ApacheKafka(directory, properties=properties) as kafka:
        yield Peer(kafka, directory / "broker-1")


class Outcome(NamedTuple):
    """What was written, and what Kafka and we made of it in one round."""

    before: list[Record]
    kafkas: Path
    ours: Path
    kind: Kind


def load(directory: Path, configs: dict[str, str]) -> Log:
    config = TopicConfig.merge(BrokerConfig(), {**configs, RATIO: "0.0"})
    # Indexes are taken as they are: a recovery would not know what a cleaned transaction had.
    log = open_log(directory, config=config, now_ms=wire.now_ms())
    log.update_high_watermark(log.log_end_offset)
    return log


@pytest.fixture(scope="module", params=sorted(KINDS))
def outcomes(
    request: pytest.FixtureRequest, peer: Peer, tmp_path_factory: pytest.TempPathFactory
) -> list[Outcome]:
    kind = KINDS[request.param]
    configs = {**CONFIGS, **kind.configs}
    home = tmp_path_factory.mktemp(request.param)
    rounds: list[Outcome] = []
    with peer.target.connect() as client:
        topic = wire.create_topic(client, request.param, configs=configs)
        history = History(client, topic, kind, seed=len(request.param))
        for number in range(ROUNDS):
            history.write(60)
            ours = peer.copy(topic, home / f"{number}-ours")
            before = [record for _, records in read(ours) for record in records]
            log = load(ours, configs)
            end = log.active_segment.base_offset
            clean(log)
            log.close()
            peer.clean(client, topic, end)
            kafkas = peer.copy(topic, home / f"{number}-kafkas")
            rounds.append(Outcome(before, kafkas, ours, kind))
    return rounds


def closed_segments(directory: Path, kind: str = ".log") -> dict[str, Path]:
    """The files of all segments but the active one, by name."""
    active = sorted(directory.glob("*.log"))[-1].stem
    return {path.name: path for path in directory.glob(f"*{kind}") if path.stem != active}


def read(directory: Path) -> list[tuple[BatchHeader, list[Record]]]:
    found = []
    for path in sorted(directory.glob("*.log")):
        data = path.read_bytes()
        for position, header in iter_batches(data):
            found.append((header, list(iter_records(data, position, header))))
    return found


def test_same_records_are_left(outcomes: list[Outcome]) -> None:
    """Offset, timestamp, key, value and headers of each, and markers too."""
    for before, kafkas, ours, _ in outcomes:
        left = [record for _, records in read(kafkas) for record in records]
        assert [record for _, records in read(ours) for record in records] == left
        assert len(left) < 0.8 * len(before)


def test_same_batches_are_left(outcomes: list[Outcome]) -> None:
    """Also the empty ones, with their offsets, epochs and sequence numbers."""
    unlike = {"batch_length": 0, "crc": 0}
    for _, kafkas, ours, kind in outcomes:
        changed = {} if kind.is_rebuilt_alike else unlike
        assert [header._replace(**changed) for header, _ in read(ours)] == [
            header._replace(**changed) for header, _ in read(kafkas)
        ]


def test_files_are_the_same_to_the_byte(outcomes: list[Outcome]) -> None:
    for _, kafkas, ours, kind in outcomes:
        assert closed_segments(ours).keys() == closed_segments(kafkas).keys()
        for suffix in (".log", ".txnindex") if kind.is_rebuilt_alike else (".txnindex",):
            wanted = {n: path.read_bytes() for n, path in closed_segments(kafkas, suffix).items()}
            found = {n: path.read_bytes() for n, path in closed_segments(ours, suffix).items()}
            assert found == wanted


def test_files_are_as_old_as_kafkas(outcomes: list[Outcome]) -> None:
    """The age of a segment decides when tombstones may go."""
    for _, kafkas, ours, _ in outcomes:
        times = {n: path.stat().st_mtime_ns for n, path in closed_segments(kafkas).items()}
        assert {
            n: path.stat().st_mtime_ns for n, path in closed_segments(ours).items()
        } == pytest.approx(times, abs=10**6)


def test_histories_have_what_they_are_for(outcomes: list[Outcome]) -> None:
    """Tombstones go in a later round unless they are retained; with transactions there are markers,
    and in the end batches without records.
    """
    before, kafkas, _, kind = outcomes[-1]
    assert any(record.value is None for record in before)
    batches = read(kafkas)
    closed_end = int(sorted(kafkas.glob("*.log"))[-1].stem)
    old = {record.offset for record in outcomes[0].before if record.value is None}
    left = {record.offset for _, records in batches for record in records}
    assert old - left
    gone = {record.key for _, records in batches for record in records if record.value is None}
    assert (b"gone 0" in gone) is not kind.tombstones_go
    if kind.has_transactions:
        closed = [header for header, _ in batches if header.last_offset < closed_end]
        assert any(header.is_control for header in closed)
        if kind.tombstones_go:
            assert any(not header.record_count for header in closed)
        assert closed_segments(kafkas, ".txnindex")


def test_compact_and_delete_keeps_the_same_segments(peer: Peer, tmp_path: Path) -> None:
    """What is compacted goes by size and age too, with `cleanup.policy=compact,delete`."""
    configs = {**CONFIGS, "cleanup.policy": "compact,delete"}
    with peer.target.connect() as client:
        topic = wire.create_topic(client, "compact-and-delete", configs=configs)
        History(client, topic, KINDS["plain"], seed=1).write(60)
        ours = peer.copy(topic, tmp_path / "ours")
        before = {path.name for path in ours.glob("*.log")}
        log = load(ours, {**configs, "retention.bytes": "8000"})
        log.delete_old_segments(wire.now_ms())
        left = {segment.log.path.name for segment in log.segments}
        log.close()
        assert 1 < len(left) < len(before)
        peer.alter(client, topic, "retention.bytes", "8000")
        directory = peer.log_dir / f"{topic}-0"
        wait_until(
            lambda: {path.name for path in directory.glob("*.log")} == left, 60, f"only {left}"
        )


COMPLAINTS = re.compile(r"mismatch|out of order|not found|corrupt|isvalid: false|Exception", re.I)


def test_kafkas_tool_accepts_what_we_left(
    outcomes: list[Outcome], apache_kafka_tools: Callable[..., ToolResult]
) -> None:
    """DumpLogSegments reads every record, and finds the indexes true."""
    _, _, ours, _ = outcomes[-1]
    logs = ",".join(map(str, sorted(ours.glob("*.log"))))
    indexes = [*ours.glob("*.index"), *ours.glob("*.timeindex")]
    for options in (
        ("--deep-iteration", "--print-data-log", "--files", logs),
        ("--verify-index-only", "--files", ",".join(map(str, sorted(indexes)))),
        ("--index-sanity-check", "--files", ",".join(map(str, sorted(indexes)))),
    ):
        result = apache_kafka_tools("kafka.tools.DumpLogSegments", *options, timeout=120)
        assert result.exit_code == 0, result.stderr
        assert not COMPLAINTS.search(result.stdout), options
    assert "passed sanity check" in result.stdout
