"""The real Apache Kafka 2.8.2 as a peer: its tools on our files, its brokers beside ours.

Jars come from Maven Central on first use and are kept in $KAFKA_PEER_LIBS, else in
~/.cache/kafkalike/kafka-2.8.2. Where they can't be had, `apache_kafka_libs` says why and the tests
that need them are skipped.
"""

import functools
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from kafkalike.launcher.cluster_view import view_from
from tests.support.broker import answers_api_versions
from tests.support.ports import free_port
from tests.support.process import Process

_VERSION = "2.8.2"
_LOGGING = ("org.slf4j", "slf4j-log4j12", "1.7.30")
_DOWNLOAD_TIMEOUT_S = 600
_LOG4J = """\
log4j.rootLogger={level}, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.target={target}
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
"""
_ZOOKEEPER = """\
dataDir={data_dir}
clientPort={port}
clientPortAddress=127.0.0.1
admin.enableServer=false
maxClientCnxns=0
"""


class ToolResult(NamedTuple):
    """What a Java tool left behind."""

    exit_code: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class Jars:
    """Artifacts of Kafka with all that they need; the first one's jar says that all are there."""

    folder: str
    artifacts: tuple[tuple[str, str, str], ...]

    @property
    def marker(self) -> str:
        """The file that is copied last."""
        _, artifact, version = self.artifacts[0]
        return f"{artifact}-{version}.jar"


BROKER_AND_TOOLS = Jars(
    f"kafka-{_VERSION}",
    (
        ("org.apache.kafka", "kafka_2.13", _VERSION),
        ("org.apache.kafka", "kafka-tools", _VERSION),
        _LOGGING,
    ),
)
STREAMS_AND_CONNECT = Jars(
    f"streams-and-connect-{_VERSION}",
    (
        ("org.apache.kafka", "kafka-streams", _VERSION),
        ("org.apache.kafka", "connect-runtime", _VERSION),
        ("org.apache.kafka", "connect-file", _VERSION),
        _LOGGING,
    ),
)


def apache_kafka_libs(jars: Jars = BROKER_AND_TOOLS) -> Path | None:
    """The folder with Kafka's jars, fetched if need be; None where that can't be."""
    return _locate(jars)[0]


def why_no_apache_kafka(jars: Jars = BROKER_AND_TOOLS) -> str:
    """The reason why `apache_kafka_libs` is None, empty if it is not."""
    return _locate(jars)[1]


@functools.cache
def _locate(jars: Jars) -> tuple[Path | None, str]:
    if shutil.which("java") is None:
        return None, "no java on PATH: Apache Kafka can't run here"
    libs = Path.home() / ".cache/kafkalike" / jars.folder
    if jars is BROKER_AND_TOOLS and "KAFKA_PEER_LIBS" in os.environ:
        libs = Path(os.environ["KAFKA_PEER_LIBS"])
    if (libs / jars.marker).exists():
        return libs, ""
    if shutil.which("mvn") is None:
        return None, f"no Apache Kafka {_VERSION} in {libs}, and no mvn on PATH to fetch it"
    try:
        _download(libs, jars)
    except (subprocess.SubprocessError, OSError) as error:
        return None, f"Maven could not fetch Apache Kafka {_VERSION}: {error}"
    return libs, ""


def _download(libs: Path, wanted: Jars) -> None:
    """Let Maven copy Kafka and what it needs; the jar that says "all is here" comes last."""
    libs.mkdir(parents=True, exist_ok=True)
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version></dependency>"
        for group, artifact, version in wanted.artifacts
    )
    with tempfile.TemporaryDirectory() as scratch:
        pom, jars = Path(scratch, "pom.xml"), Path(scratch, "jars")
        pom.write_text(
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
            "<groupId>peer</groupId><artifactId>peer</artifactId><version>1</version>"
            f"<dependencies>{dependencies}</dependencies></project>"
        )
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
        subprocess.run(
            ["mvn", "-q", "-B", "-f", str(pom), *goal],
            check=True,
            capture_output=True,
            timeout=_DOWNLOAD_TIMEOUT_S,
        )
        for jar in sorted(jars.iterdir(), key=lambda jar: jar.name == wanted.marker):
            shutil.copy(jar, libs)


def java_command(
    config_dir: Path,
    main_class: str,
    *args: str | Path,
    jvm_options: Sequence[str] = ("-Xmx256m",),
    is_tool: bool = False,
    jars: Jars = BROKER_AND_TOOLS,
) -> list[str]:
    """The command line that runs a class of Apache Kafka.

    A tool logs warnings to stderr, so that its stdout is its answer; a server logs all to stdout.
    """
    libs = apache_kafka_libs(jars)
    assert libs is not None, why_no_apache_kafka(jars)
    level, target = ("WARN", "System.err") if is_tool else ("INFO", "System.out")
    log4j = config_dir / f"log4j-{level}.properties"
    log4j.write_text(_LOG4J.format(level=level, target=target))
    options = [*jvm_options, "-Djava.awt.headless=true", f"-Dlog4j.configuration=file:{log4j}"]
    return ["java", *options, "-cp", f"{libs}/*", main_class, *map(str, args)]


def run_tool(
    main_class: str, *args: str | Path, input: str | bytes | None = None, timeout: float = 180
) -> ToolResult:
    """Run one of Kafka's tools, such as `kafka.tools.DumpLogSegments`, to its end."""
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            java_command(Path(scratch), main_class, *args, is_tool=True),
            input=input.encode() if isinstance(input, str) else input or b"",
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    return ToolResult(
        done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    )


class ApacheKafka:
    """One ZooKeeper and `brokers` real Kafka brokers (ids 1..N) on free ports of 127.0.0.1.

    Kafka's defaults, except what makes a small cluster on one host usable. With
    `zookeeper_connect` no ZooKeeper is started and the brokers join that one.
    """

    def __init__(
        self,
        directory: Path,
        *,
        brokers: int = 1,
        properties: Mapping[str, str] | None = None,
        jvm_options: Sequence[str] = ("-Xmx512m",),
        zookeeper_connect: str | None = None,
        first_id: int = 1,
    ) -> None:
        self._directory = directory
        self._properties = dict(properties or {})
        self._jvm_options = tuple(jvm_options)
        self._zookeeper: Process | None = None
        self._zookeeper_connect = zookeeper_connect
        self.ports = {broker_id: free_port() for broker_id in range(first_id, first_id + brokers)}
        self.brokers: dict[int, Process] = {}
        self.seconds_to_first_answer: dict[int, float] = {}

    @property
    def bootstrap_servers(self) -> str:
        """Addresses of all brokers, as clients want them."""
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    @property
    def zookeeper_connect(self) -> str:
        """Where its ZooKeeper listens; known once started."""
        assert self._zookeeper_connect is not None, "not started"
        return self._zookeeper_connect

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start ZooKeeper, then all brokers at once, and wait until each says that it is up."""
        self._directory.mkdir(parents=True, exist_ok=True)
        if self._zookeeper_connect is None:
            self._start_zookeeper()
        for broker_id in self.ports:
            self.brokers[broker_id] = self._broker(broker_id)
            self.brokers[broker_id].start()
        started = time.perf_counter()
        for broker_id, broker in self.brokers.items():
            answers = functools.partial(answers_api_versions, self.ports[broker_id])
            broker.wait_until(answers, 120, "answer to ApiVersions")
            self.seconds_to_first_answer[broker_id] = time.perf_counter() - started
            broker.wait_for_log("started (kafka.server.KafkaServer)", 120)
        for broker_id, broker in self.brokers.items():
            # It says so before the controller has told it who there is, itself included.
            knows_all = functools.partial(self._knows_all, self.ports[broker_id])
            broker.wait_until(knows_all, 60, "knowledge of all brokers")

    def _knows_all(self, port: int) -> bool:
        try:
            return self.ports.keys() <= view_from("127.0.0.1", port).brokers.keys()
        except (OSError, EOFError):
            return False

    def stop(self) -> None:
        """End everything; the data goes with the directory, so nobody is asked to say goodbye."""
        for process in (*self.brokers.values(), self._zookeeper):
            if process is not None:
                process.kill()

    def _start_zookeeper(self) -> None:
        port = free_port()
        config = self._directory / "zoo.cfg"
        config.write_text(_ZOOKEEPER.format(data_dir=self._directory / "zookeeper", port=port))
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        command = java_command(self._directory, main, config)
        self._zookeeper = Process("ZooKeeper", command, self._directory / "zookeeper.log")
        self._zookeeper.start()
        self._zookeeper.wait_for_log("binding to port", 60)
        self._zookeeper_connect = f"127.0.0.1:{port}"

    def _broker(self, broker_id: int) -> Process:
        replicas = min(3, len(self.ports))
        properties = {
            "broker.id": str(broker_id),
            "listeners": f"PLAINTEXT://127.0.0.1:{self.ports[broker_id]}",
            "log.dirs": str(self._directory / f"broker-{broker_id}"),
            "zookeeper.connect": self.zookeeper_connect,
            "offsets.topic.num.partitions": "4",
            "offsets.topic.replication.factor": str(replicas),
            "transaction.state.log.num.partitions": "4",
            "transaction.state.log.replication.factor": str(replicas),
            "transaction.state.log.min.isr": str(min(2, replicas)),
            "group.initial.rebalance.delay.ms": "0",
            "log.cleaner.dedupe.buffer.size": "4194304",
        } | self._properties
        config = self._directory / f"broker-{broker_id}.properties"
        config.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        options = self._jvm_options
        command = java_command(self._directory, "kafka.Kafka", config, jvm_options=options)
        log = self._directory / f"broker-{broker_id}.log"
        return Process(f"Apache Kafka broker {broker_id}", command, log)
