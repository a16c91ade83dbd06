"""Jobs on a standalone Spark cluster while an executor, the drivers and a broker die by kill -9."""

import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from kafkalike.client import KafkaAdminClient, NewTopic
from spark_pipeline.cli.generate import GENERATORS, send
from spark_pipeline.generators.events import Event, Plan
from spark_pipeline.standalone import StandaloneCluster, free_ports
from tests.spark.topics import committed_values
from tests.support.cluster import Cluster
from tests.support.ensemble import Ensemble
from tests.support.process import Process
from tests.support.source_tree import ROOT
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.ensemble, pytest.mark.slow]

PARTITIONS = 3
TOPICS = ("orders", "good", "bad")
SETTINGS = {
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "min.insync.replicas": "2",
}


class Jobs:
    """The two jobs; what they have done so far is in topics and files."""

    def __init__(self, home: Path, servers: str, master: str) -> None:
        self._home, self._servers, self._master = home, servers, master
        self.archive = home / "archive"
        self._running: dict[str, Process] = {}

    def start(self) -> None:
        quality = ["--input", "orders", "--good", "good", "--bad", "bad"]
        archive = ["--topics", "orders", "--path", str(self.archive), "--compact-from", "5"]
        for job, options in (("quality", quality), ("archive", archive)):
            command = [sys.executable, "-m", "kafkalike.cli.main", "spark", "submit", job]
            command += ["--master", self._master, "--bootstrap-servers", self._servers]
            command += ["--checkpoint", str(self._home / job), "--trigger", "1 second"]
            command += ["--max-offsets-per-trigger", "600", *options]
            for setting in (
                "spark.cores.max=1",
                "spark.executor.memory=512m",
                "spark.driver.memory=512m",
                "spark.sql.shuffle.partitions=2",
                "spark.network.timeout=60s",
            ):
                command += ["--spark", setting]
            log = self._home / f"{job}.log"
            process = Process(job, command, log, cwd=self._home, env={"PYTHONPATH": str(ROOT)})
            process.start()
            self._running[job] = process

    def kill(self) -> None:
        """Kill both drivers, Python and JVM."""
        for process in self._running.values():
            process.kill()

    def stop(self) -> None:
        for process in self._running.values():
            process.terminate(60)

    def check(self) -> None:
        for process in self._running.values():
            assert process.is_alive, process.tail()


def executors(cluster: StandaloneCluster) -> list[int]:
    """Return the executors that the workers have started."""
    workers = {cluster.pids[name] for name in cluster.pids if name.startswith("worker")}
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
            command = (status.parent / "cmdline").read_bytes()
        except OSError:
            continue
        parent = int(text.partition("PPid:")[2].split()[0])
        if parent in workers and b"CoarseGrainedExecutorBackend" in command:
            found.append(int(status.parent.name))
    return sorted(found)


def archived(folder: Path) -> Counter[tuple[int, int]]:
    import pyarrow.dataset

    data = folder / "topic=orders"
    if not data.exists():
        return Counter()
    table = pyarrow.dataset.dataset(data).to_table(columns=["partition", "offset"])
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


def test_nothing_is_lost_or_twice_when_everybody_dies_in_turn(
    tmp_path: Path, ensemble: Ensemble
) -> None:
    """M57, M82: an executor, the drivers and the broker that leads are killed in mid-job."""
    spark = StandaloneCluster(tmp_path / "spark", *free_ports(2))
    with Cluster(tmp_path / "cluster", f"{ensemble.connect_string}/kills") as cluster:
        cluster.up(brokers=3, settings=SETTINGS)
        servers = cluster.bootstrap_servers
        kafka = SimpleNamespace(bootstrap_servers=servers)
        with KafkaAdminClient(bootstrap_servers=servers) as admin:
            admin.create_topics([NewTopic(topic, PARTITIONS, 3) for topic in TOPICS])
        spark.up(workers=2, cores=1, memory="1g")
        jobs = Jobs(tmp_path, servers, spark.url)
        sent: list[Event] = []

        def more(seed: int) -> None:
            generator = GENERATORS["orders"][0]
            plan = Plan(count=2000, seed=seed)
            # Ids of their own: an order of an earlier portion is not a repetition.
            events = [
                event._replace(value=event.value.replace(b'"order-', b'"%d-order-' % seed))
                for event in generator(plan)
            ]
            send(lambda _: iter(events), plan, {"bootstrap.servers": servers})
            sent.extend(events)

        def good() -> int:
            jobs.check()
            return len(committed_values(kafka, "good", PARTITIONS))  # type: ignore[arg-type]

        try:
            more(1)
            jobs.start()
            wait_until(lambda: good() > 0 and archived(jobs.archive), 400, "the first batches")
            more(2)
            before = executors(spark)
            assert len(before) == 2, "one executor per job"
            for pid in before:
                os.kill(pid, signal.SIGKILL)
            have = good()
            wait_until(lambda: good() > have, 300, "results after the executors died")

            more(3)
            jobs.kill()
            jobs.start()
            have = len(committed_values(kafka, "good", PARTITIONS))  # type: ignore[arg-type]
            wait_until(lambda: good() > have, 400, "results after the drivers died")

            more(4)
            cluster.run("kill", cluster.partition("good").leader)
            expected = Counter(e.value for e in sent if e.kind in ("good", "late"))
            wait_until(lambda: good() >= sum(expected.values()), 400, "all orders to be there")
            records = len(committed_values(kafka, "orders", PARTITIONS))  # type: ignore[arg-type]
            assert records == len(sent)
            # A row may be twice for a moment, while files are made one.
            wait_until(
                lambda: sorted(archived(jobs.archive).values()) == [1] * records,
                400,
                "all to be archived once",
            )
            bad = committed_values(kafka, "bad", PARTITIONS)  # type: ignore[arg-type]
        finally:
            jobs.stop()
            spark.down()
        assert Counter(committed_values(kafka, "good", PARTITIONS)) == expected  # type: ignore[arg-type]
        places = Counter(
            (row["partition"], row["offset"]) for row in map(json.loads, filter(None, bad))
        )
        assert set(places.values()) == {1}
        assert len(places) == sum(event.kind == "malformed" for event in sent)
        assert set(archived(jobs.archive).values()) == {1}
        assert len(archived(jobs.archive)) == records
