"""The last step of the quickstart: a Spark job over the topics, and its results as they come."""

import contextlib
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import click

from kafkalike.client import KafkaAdminClient, KafkaConsumer, NewTopic, TopicPartition
from kafkalike.client.errors import TopicAlreadyExistsError
from kafkalike.launcher.errors import ClusterError

POSITIONS: Final = "trucks"
WINDOWS: Final = "truck-windows"
TRUCKS: Final = 10
_PARTITIONS: Final = 3
_START_S: Final = 180.0
_STOP_S: Final = 30.0
_HEAD: Final = "  truck     minute        km   km/h    top  positions"


class JobEndedError(ClusterError):
    """The job or the generator has ended, which neither should."""


def has_spark() -> bool:
    """Whether what the job needs is installed."""
    return all(importlib.util.find_spec(name) for name in ("pyspark", "pyarrow", "numpy"))


class TruckJob:
    """A generator of positions and the Spark job that reads them, as processes."""

    def __init__(self, home: Path, servers: str, replicas: int) -> None:
        self._home = home
        self._servers = servers
        self._replicas = replicas
        self._processes: list[tuple[str, subprocess.Popen[bytes]]] = []

    @property
    def log(self) -> Path:
        """What the job says."""
        return self._home / "spark-trucks.log"

    def start(self) -> None:
        """Make the topics; start both."""
        with KafkaAdminClient(bootstrap_servers=self._servers) as admin:
            for topic in (POSITIONS, WINDOWS):
                with contextlib.suppress(TopicAlreadyExistsError):
                    admin.create_topics([NewTopic(topic, _PARTITIONS, self._replicas)])
        servers = ["--bootstrap-servers", self._servers]
        # Time goes fifty times as fast in the trucks: a minute is over every 1.2 s.
        positions = ["generate", "trucks", "--rate", "100", "--step-ms", "500"]
        self._run(self._home / "generate-trucks.log", [*positions, *servers])
        job = ["spark", "submit", "trucks", "--checkpoint", str(self._home / "spark-checkpoint")]
        self._run(self.log, [*job, "--trigger", "1 second", *servers])

    def stop(self) -> None:
        """Stop both."""
        for _, process in self._processes:
            process.terminate()
        for _, process in self._processes:
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()

    def results(self) -> Iterator[list[dict[str, Any]]]:
        """Yield the last window of each truck, again and again; an error if the job ends."""
        consumer = KafkaConsumer(
            bootstrap_servers=self._servers,
            isolation_level="read_committed",
            enable_auto_commit=False,
        )
        try:
            tps = [TopicPartition(WINDOWS, number) for number in range(_PARTITIONS)]
            consumer.assign(tps)
            consumer.seek_to_beginning(*tps)
            last: dict[str, dict[str, Any]] = {}
            while True:
                self._check()
                for records in consumer.poll(timeout_ms=500).values():
                    for record in records:
                        keep_latest(last, json.loads(record.value))
                yield [last[truck] for truck in sorted(last)]
        finally:
            consumer.close()

    def _run(self, log: Path, arguments: Sequence[str]) -> None:
        with log.open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "kafkalike.cli.main", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._processes.append((str(log), process))

    def _check(self) -> None:
        for log, process in self._processes:
            if process.poll() is not None:
                raise JobEndedError(f"a process of the Spark step ended; see {log}")


def keep_latest(last: dict[str, dict[str, Any]], window: dict[str, Any]) -> None:
    """Take a window unless a later one of its truck is known: a batch has no order."""
    known = last.get(window["truck_id"])
    if known is None or known["window_start"] <= window["window_start"]:
        last[window["truck_id"]] = window


def wait_for_all(job: TruckJob) -> list[dict[str, Any]]:
    """Wait until there is a window of every truck; return the last ones."""
    deadline = time.monotonic() + _START_S
    for rows in job.results():
        if len(rows) == TRUCKS:
            return rows
        if time.monotonic() >= deadline:
            raise ClusterError(
                f"no results of the Spark job within {_START_S:.0f} s; see {job.log}"
            )
    return []


def table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the lines of the table."""
    lines = [
        f"  {row['truck_id']:9} {row['window_start'][11:16]:8}"
        f"{row['distance_km']:8.2f} {row['average_speed_kmh']:6.1f} {row['top_speed_kmh']:6.1f}"
        f" {row['positions']:10}"
        for row in rows
    ]
    return [_HEAD, *lines]


def show_live(job: TruckJob, is_wanted: Callable[[], bool]) -> None:
    """Draw the table over and over at the same place; on no terminal only once."""
    drawn = 0
    for rows in job.results():
        if not is_wanted():
            return
        if len(rows) < TRUCKS:
            continue
        if drawn:
            if not sys.stdout.isatty():
                continue
            click.echo(f"\033[{drawn}A", nl=False)
        lines = table(rows)
        for line in lines:
            click.echo(f"{line}\033[K" if sys.stdout.isatty() else line)
        drawn = len(lines)
