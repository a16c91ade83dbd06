"""The fixtures that other people's tests use, with the faults that they offer."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafkalike.client import KafkaConsumer, KafkaProducer
from kafkalike.launcher.errors import ClusterError
from kafkalike.testing import KafkaCluster
from tests.support.source_tree import ROOT
from tests.support.waiting import wait_until

pytestmark = pytest.mark.ensemble


def send(cluster: KafkaCluster, topic: str, *values: bytes) -> None:
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, acks="all")
    try:
        for value in values:
            producer.send(topic, value).get(timeout=60)
    finally:
        producer.close()


def read(cluster: KafkaCluster, topic: str, count: int) -> list[bytes]:
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=cluster.bootstrap_servers,
        auto_offset_reset="earliest",
        consumer_timeout_ms=30_000,
    )
    try:
        return [record.value for _, record in zip(range(count), consumer, strict=False)]
    finally:
        consumer.close()


@pytest.mark.kafka_topic(partitions=2, replication_factor=3)
def test_topic_of_the_shared_cluster_is_shaped_by_its_marker(
    kafka_cluster: KafkaCluster, kafka_topic: str
) -> None:
    view = kafka_cluster.view()
    found = [p for tp, p in view.partitions.items() if tp.topic == kafka_topic]
    assert [len(p.replicas) for p in found] == [3, 3]
    send(kafka_cluster, kafka_topic, b"one", b"two")
    assert sorted(read(kafka_cluster, kafka_topic, 2)) == [b"one", b"two"]


def test_leader_that_is_killed_loses_nothing_and_comes_back(
    kafka_cluster: KafkaCluster, kafka_topic: str
) -> None:
    send(kafka_cluster, kafka_topic, b"before")
    leader = kafka_cluster.leader(kafka_topic)
    kafka_cluster.kill(leader)
    send(kafka_cluster, kafka_topic, b"after")
    assert kafka_cluster.leader(kafka_topic) != leader
    kafka_cluster.restart(leader)
    kafka_cluster.wait_until_ready()
    assert read(kafka_cluster, kafka_topic, 2) == [b"before", b"after"]


def test_leader_that_is_isolated_runs_on_and_is_replaced(
    kafka_cluster: KafkaCluster, kafka_topic: str
) -> None:
    send(kafka_cluster, kafka_topic, b"before")
    leader = kafka_cluster.leader(kafka_topic)
    kafka_cluster.isolate(leader)
    wait_until(lambda: kafka_cluster.leader(kafka_topic) not in (leader, -1), 60, "a new leader")
    assert leader not in kafka_cluster.view().brokers
    send(kafka_cluster, kafka_topic, b"after")
    kafka_cluster.heal(leader)
    kafka_cluster.wait_until_ready()
    assert read(kafka_cluster, kafka_topic, 2) == [b"before", b"after"]


def test_paused_broker_goes_on_where_it_was(kafka_cluster: KafkaCluster) -> None:
    kafka_cluster.pause(0)
    kafka_cluster.resume(0)
    kafka_cluster.wait_until_ready()


def test_factory_takes_settings_as_arguments(
    make_kafka_cluster: Callable[..., KafkaCluster],
) -> None:
    cluster = make_kafka_cluster(brokers=1, auto_create_topics_enable=False)
    assert cluster.broker_ids == (0,)
    with pytest.raises(ClusterError, match="no partition 0 of topic absent"):
        cluster.leader("absent")
    assert cluster.create_topic("made") == "made"


def test_one_broker_is_enough_for_much(kafka_broker: KafkaCluster) -> None:
    topic = kafka_broker.create_topic("alone")
    send(kafka_broker, topic, b"value")
    assert read(kafka_broker, topic, 1) == [b"value"]


_CRASHES = """
import os, sys
from pathlib import Path
from kafkalike.testing import KafkaCluster
cluster = KafkaCluster(Path(sys.argv[1]), brokers=1)
cluster.__enter__()
print(*[p.read_text() for p in Path(sys.argv[1]).rglob("*.pid")], flush=True)
os.kill(os.getpid(), 9)
"""


def test_nothing_is_left_of_a_test_run_that_crashes(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _CRASHES, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) >= 1, done.stderr
    wait_until(lambda: not any(map(is_running, pids)), 30, f"the end of {pids}")


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()


_TWO_TESTS = """
from pathlib import Path

def test_one(kafka_broker, tmp_path_factory):
    Path(kafka_broker.create_topic("one"))

def test_two(kafka_broker):
    kafka_broker.create_topic("one")
"""
_WAITS = """
import os
import re
import signal
from pathlib import Path

def test_waits(kafka_broker):
    Path("ready").write_text("")
    Path("fifo").open().read()
"""


@contextmanager
def run_pytest(directory: Path, code: str, *options: str) -> Iterator["subprocess.Popen[str]"]:
    """Run somebody else's tests as they would, in a session of their own."""
    (directory / "test_theirs.py").write_text(code)
    (directory / "pytest.ini").write_text("[pytest]\n")
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "--basetemp=temp", *options],
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        # Ctrl-C works there although it may be ignored here (in a job of a shell's background).
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as tests:
        try:
            yield tests
        finally:
            tests.kill()


def left_of(directory: Path) -> list[str]:
    """Return what still runs in or for a folder, or lies there although it was a cluster's."""
    running = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            home = str((process / "cwd").readlink())
        except OSError:  # it has ended meanwhile
            continue
        if str(directory) in command or home.startswith(str(directory)):
            running.append(command)
    return running + [str(path) for path in directory.glob("temp/**/kafka-cluster[0-9]*")]


@pytest.mark.long
def test_workers_of_xdist_have_clusters_of_their_own(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    with run_pytest(tmp_path, _TWO_TESTS, "-n", "2") as tests:
        output, _ = tests.communicate(timeout=180)
    assert "2 passed" in output
    assert not left_of(tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["plain", "xdist"])
def test_nothing_is_left_after_ctrl_c(tmp_path: Path, options: tuple[str, ...]) -> None:
    if options:
        pytest.importorskip("xdist")
    os.mkfifo(tmp_path / "fifo")
    with run_pytest(tmp_path, _WAITS, *options) as tests:
        wait_until(lambda: (tmp_path / "ready").exists() or tests.poll() is not None, 120, "a test")
        assert left_of(tmp_path)
        os.killpg(tests.pid, signal.SIGINT)  # what a terminal does
        output, _ = tests.communicate(timeout=60)
    assert "KeyboardInterrupt" in output
    wait_until(lambda: not left_of(tmp_path), 30, f"the end of {left_of(tmp_path)}")


@pytest.mark.long
def test_example_of_the_documentation_passes(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/testing.md").read_text(), re.DOTALL)
    with run_pytest(tmp_path, code) as tests:
        output, _ = tests.communicate(timeout=180)
    assert "1 passed" in output
    assert not left_of(tmp_path)
