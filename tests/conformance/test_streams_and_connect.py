"""Kafka Streams and Kafka Connect 2.8.2 on our cluster, while brokers and workers die."""

import json
import shutil
import struct
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from urllib.request import Request, urlopen

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.support import apache_kafka
from tests.support.apache_kafka import STREAMS_AND_CONNECT
from tests.support.cluster import Cluster
from tests.support.ensemble import Ensemble
from tests.support.ports import free_port
from tests.support.process import Process

pytestmark = [pytest.mark.kafka, pytest.mark.ensemble]

BROKERS = (101, 102, 103)
SETTINGS = {
    "transaction.state.log.num.partitions": "6",
    "offsets.topic.num.partitions": "6",
    "group.initial.rebalance.delay.ms": "0",
}
WORD_COUNT = Path(__file__).parents[1] / "support/java/WordCount.java"
WORDS = ("kafka", "zoo", "keeper", "log", "segment", "epoch", "isr")
JVM = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
PATIENCE_S = 300
"""A JVM with Connect has started in ten seconds, and on a very busy machine in two minutes."""
CONNECT = "org.apache.kafka.connect.cli.Connect"


@pytest.fixture(scope="module")
def cluster(ensemble: Ensemble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if apache_kafka.apache_kafka_libs(STREAMS_AND_CONNECT) is None:
        pytest.skip(apache_kafka.why_no_apache_kafka(STREAMS_AND_CONNECT))
    directory = tmp_path_factory.mktemp("streams") / "cluster"
    with Cluster(directory, f"{ensemble.connect_string}/streams-and-connect") as cluster:
        cluster.up("--first-id", BROKERS[0], settings=SETTINGS)
        yield cluster


def write_properties(path: Path, properties: Mapping[str, object]) -> Path:
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    return path


def java(name: str, directory: Path, main_class: str, *args: str | Path) -> Process:
    directory.mkdir(exist_ok=True)
    command = apache_kafka.java_command(
        directory, main_class, *args, jvm_options=JVM, jars=STREAMS_AND_CONNECT
    )
    return Process(name, command, directory / f"{name}.log")


# --- Streams


class Counting:
    """A word count with `exactly_once_beta`, whose instances can be killed and replaced."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self._cluster = cluster
        self._directory = directory
        self._random = Random(7)
        self.expected: dict[str, int] = defaultdict(int)
        for topic in ("lines", "counts"):
            cluster.create_topic(topic, partitions=3, replication_factor=3)

    def instance(self, number: int) -> Process:
        """Make an instance with an empty state directory: it restores from the changelog."""
        properties = write_properties(
            self._directory / f"streams-{number}.properties",
            {
                "application.id": "word-count",
                "bootstrap.servers": self._cluster.bootstrap_servers,
                "processing.guarantee": "exactly_once_beta",
                "replication.factor": 3,
                "commit.interval.ms": 100,
                "cache.max.bytes.buffering": 0,
                "state.dir": self._directory / f"state-{number}",
                "consumer.auto.offset.reset": "earliest",
                "consumer.session.timeout.ms": 6000,
            },
        )
        name = f"instance-{number}"
        return java(name, self._directory, str(WORD_COUNT), properties, "lines", "counts")

    def write(self, lines: int) -> None:
        """Write lines of a few words each."""
        producer = Producer({"bootstrap.servers": self._cluster.bootstrap_servers, "acks": "all"})
        for number in range(lines):
            words = self._random.choices(WORDS, k=self._random.randrange(1, 6))
            producer.produce("lines", " ".join(words), partition=number % 3)
            for word in words:
                self.expected[word] += 1
        assert producer.flush(60) == 0

    def counted(self, timeout_s: float) -> dict[str, list[int]]:
        """Read until as many counts as words are there: every word in the order it was counted."""
        consumer = Consumer(
            {
                "bootstrap.servers": self._cluster.bootstrap_servers,
                "group.id": "reader",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        consumer.assign([TopicPartition("counts", number, 0) for number in range(3)])
        found: dict[str, list[int]] = defaultdict(list)
        deadline_s = time.monotonic() + timeout_s
        total = sum(self.expected.values())
        while sum(map(len, found.values())) < total and time.monotonic() < deadline_s:
            for message in consumer.consume(1000, 0.2):
                if message.error() is None:
                    (count,) = struct.unpack(">q", message.value())
                    found[message.key().decode()].append(count)
        consumer.close()
        return found

    def assert_counted_exactly_once(self, timeout_s: float = PATIENCE_S) -> None:
        """Every word was counted 1, 2, 3, … up to how often it was written."""
        found = self.counted(timeout_s)
        assert found == {word: list(range(1, n + 1)) for word, n in self.expected.items()}


@pytest.mark.skipif(shutil.which("javac") is None, reason="no JDK: javac is not on PATH")
def test_word_count_is_exact_though_instances_and_brokers_die(
    cluster: Cluster, tmp_path: Path
) -> None:
    counting = Counting(cluster, tmp_path)
    counting.write(300)
    with counting.instance(1) as first:
        first.wait_for_log("state RUNNING", PATIENCE_S)
        counting.assert_counted_exactly_once()
        counting.write(300)
        first.kill()
    with counting.instance(2) as second:
        second.wait_for_log("state RUNNING", PATIENCE_S)
        counting.write(100)
        counting.assert_counted_exactly_once()
        killed = cluster.partition("counts").leader
        cluster.run("kill", killed)
        counting.write(300)
        counting.assert_counted_exactly_once()
        cluster.run("start", killed)
        for topic in ("lines", "counts", "__transaction_state", "__consumer_offsets"):
            cluster.wait_until_in_sync(topic, 60)
        counting.write(50)
        counting.assert_counted_exactly_once()


# --- Connect

STRINGS = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
}


def source_connector(file: Path, topic: str) -> dict[str, str]:
    return {
        "name": f"{topic}-source",
        "connector.class": "FileStreamSource",
        "tasks.max": "1",
        "file": str(file),
        "topic": topic,
    }


def sink_connector(file: Path, topic: str) -> dict[str, str]:
    return {
        "name": f"{topic}-sink",
        "connector.class": "FileStreamSink",
        "tasks.max": "1",
        "file": str(file),
        "topics": topic,
    }


class Files:
    """A file that a connector reads, and one that another writes."""

    def __init__(self, directory: Path) -> None:
        self.source = directory / "source.txt"
        self.sink = directory / "sink.txt"
        self._written = 0
        self.source.touch()

    def write(self, count: int) -> None:
        """Append lines to the source."""
        with self.source.open("a") as file:
            for number in range(self._written, self._written + count):
                file.write(f"line {number}\n")
        self._written += count

    def wait_until_copied(self, worker: Process) -> None:
        """Wait until the sink has as many lines as the source."""
        worker.wait_until(
            lambda: self.sink.exists() and len(self.sink.read_text().splitlines()) >= self._written,
            PATIENCE_S,
            f"{self._written} lines in the sink",
        )


def test_connect_copies_a_file_through_a_topic(cluster: Cluster, tmp_path: Path) -> None:
    cluster.create_topic("copied", partitions=1, replication_factor=3)
    files = Files(tmp_path)
    worker = {
        "bootstrap.servers": cluster.bootstrap_servers,
        **STRINGS,
        "offset.storage.file.filename": tmp_path / "offsets",
        "offset.flush.interval.ms": 500,
        "listeners": f"HTTP://127.0.0.1:{free_port()}",
    }
    properties = [
        write_properties(tmp_path / "worker.properties", worker),
        write_properties(tmp_path / "source.properties", source_connector(files.source, "copied")),
        write_properties(tmp_path / "sink.properties", sink_connector(files.sink, "copied")),
    ]
    files.write(500)
    with java("standalone", tmp_path, f"{CONNECT}Standalone", *properties) as connect:
        files.wait_until_copied(connect)
        killed = cluster.partition("copied").leader
        cluster.run("kill", killed)
        files.write(500)
        files.wait_until_copied(connect)
        cluster.run("start", killed)
    with java("standalone-2", tmp_path, f"{CONNECT}Standalone", *properties) as connect:
        files.write(100)
        files.wait_until_copied(connect)
    assert files.sink.read_text() == files.source.read_text()


def test_connect_workers_share_connectors_as_a_group(cluster: Cluster, tmp_path: Path) -> None:
    """Connectors, their offsets and states are in compacted topics; who dies is replaced."""
    files = Files(tmp_path)
    ports = [free_port(), free_port()]
    workers = [_distributed(cluster, tmp_path, port) for port in ports]
    with workers[0], workers[1]:
        for port, worker in zip(ports, workers, strict=True):
            worker.wait_until(lambda port=port: _rest(port, "connectors") == [], PATIENCE_S, "REST")
        for connector in (
            source_connector(files.source, "shared"),
            sink_connector(files.sink, "shared"),
        ):
            _rest(ports[0], f"connectors/{connector['name']}/config", connector)
        files.write(300)
        files.wait_until_copied(workers[0])
        workers[0].kill()
        files.write(300)
        files.wait_until_copied(workers[1])
    # A worker that is killed may not have stored how far it had come: what follows comes again.
    lines = files.source.read_text().splitlines()
    assert list(dict.fromkeys(files.sink.read_text().splitlines())) == lines


def _distributed(cluster: Cluster, directory: Path, port: int) -> Process:
    properties = {
        "bootstrap.servers": cluster.bootstrap_servers,
        "group.id": "connect-workers",
        **STRINGS,
        **{f"{kind}.storage.topic": f"connect-{kind}" for kind in ("config", "offset", "status")},
        **{f"{kind}.storage.replication.factor": 3 for kind in ("config", "offset", "status")},
        "offset.flush.interval.ms": 500,
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 1000,
        "scheduled.rebalance.max.delay.ms": 1000,
        "listeners": f"HTTP://127.0.0.1:{port}",
        "rest.advertised.host.name": "127.0.0.1",
    }
    path = write_properties(directory / f"distributed-{port}.properties", properties)
    return java(f"distributed-{port}", directory, f"{CONNECT}Distributed", path)


def _rest(port: int, path: str, body: Mapping[str, str] | None = None) -> object:
    """Ask a worker, or tell it a connector's configuration."""
    request = Request(f"http://127.0.0.1:{port}/{path}")
    if body is not None:
        request = Request(
            request.full_url,
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
            method="PUT",
        )
    with urlopen(request, timeout=30) as answer:
        return json.load(answer)
