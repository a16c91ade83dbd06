"""A cluster as a user runs it: every step is a `kafkalike cluster` command in a process."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kafkalike.client.simple_client import SimpleClient
from kafkalike.launcher.cluster_view import ClusterView, PartitionView, view_from
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateableTopicConfig,
    CreateTopicsRequest,
)
from tests.support.ports import free_ports_in_a_row
from tests.support.waiting import wait_until

KAFKALIKE = [sys.executable, "-m", "kafkalike.cli.main"]
_HOST = "127.0.0.1"


class Cluster:
    """`kafkalike cluster … --dir D`; a context manager whose end is `down --wipe`."""

    def __init__(self, directory: Path, zookeeper: str | None = None) -> None:
        self.directory = directory
        self._zookeeper = zookeeper

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if (self.directory / "cluster.json").exists():
            # What went wrong is in the logs: they stay.
            self.run("down", *(["--wipe"] if error is None else []))

    def up(
        self,
        *options: object,
        brokers: int = 3,
        settings: Mapping[str, str] | None = None,
        timeout_s: float = 120,
    ) -> str:
        """Start the cluster and leave it running; returns what was on the screen."""
        arguments: list[object] = ["--brokers", brokers, "--port", free_ports_in_a_row(brokers + 3)]
        if self._zookeeper is not None:
            arguments += ["--zookeeper", self._zookeeper]
        for key, value in (settings or {}).items():
            arguments += ["--set", f"{key}={value}"]
        return self.run("up", "--detach", *arguments, *options, timeout_s=timeout_s)

    def run(self, command: str, *arguments: object, timeout_s: float = 120) -> str:
        """Run a command that must succeed and return what it said."""
        done = self.try_to(command, *arguments, timeout_s=timeout_s)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def try_to(
        self, command: str, *arguments: object, timeout_s: float = 120
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command that may fail."""
        return subprocess.run(
            [*KAFKALIKE, "cluster", command, *map(str, arguments), "--dir", str(self.directory)],
            capture_output=True,
            text=True,
            timeout=timeout_s,
        )

    @property
    def record(self) -> dict[str, Any]:
        """What cluster.json says."""
        found: dict[str, Any] = json.loads((self.directory / "cluster.json").read_text())
        return found

    @property
    def bootstrap_servers(self) -> str:
        """All brokers, as clients want them."""
        return str(self.record["bootstrap_servers"])

    def broker(self, broker_id: int) -> dict[str, Any]:
        """What cluster.json says about one broker."""
        (found,) = [broker for broker in self.record["brokers"] if broker["id"] == broker_id]
        return dict(found)

    def log(self, broker_id: int) -> str:
        """What a broker said since it was first started."""
        return (self.directory / f"broker-{broker_id}" / "broker.log").read_text()

    def view(self) -> ClusterView:
        """What the first broker that answers says; OSError if none does."""
        problem: Exception = OSError("no broker runs")
        for broker in self.record["brokers"]:
            try:
                return view_from(_HOST, broker["port"], timeout_s=3)
            except (OSError, EOFError) as error:
                problem = error
        raise OSError(f"no broker answers: {problem}")

    def partition(self, topic: str, partition: int = 0) -> PartitionView:
        """One partition as clients see it."""
        return self.view().partitions[TopicPartition(topic, partition)]

    def connect(self, broker_id: int, timeout_s: float = 10.0) -> SimpleClient:
        """Open a connection to one broker."""
        return SimpleClient(_HOST, self.broker(broker_id)["port"], timeout_s=timeout_s)

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = 1,
        replication_factor: int = 1,
        assignment: Sequence[Sequence[int]] | None = None,
        configs: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic, placed as `assignment` says if it does, and wait until it is in sync."""
        wanted = CreatableTopic(
            name=name,
            num_partitions=partitions if assignment is None else -1,
            replication_factor=replication_factor if assignment is None else -1,
            assignments=[
                CreatableReplicaAssignment(partition_index=index, broker_ids=list(brokers))
                for index, brokers in enumerate(assignment or ())
            ],
            configs=[CreateableTopicConfig(name=k, value=v) for k, v in (configs or {}).items()],
        )
        with self.connect(self.view().controller.id, timeout_s=40) as client:
            (created,) = client.send(CreateTopicsRequest(topics=[wanted], timeout_ms=30_000)).topics
        code = ErrorCode(created.error_code)
        assert code is ErrorCode.NONE, f"{name}: {code.name}: {created.error_message}"
        self.wait_until_in_sync(name)

    def wait_until_in_sync(self, topic: str, timeout_s: float = 30.0) -> None:
        """Wait until all replicas of a topic's partitions are in sync."""

        def is_in_sync() -> bool:
            found = [p for tp, p in self.view().partitions.items() if tp.topic == topic]
            return bool(found) and all(
                p.leader >= 0 and set(p.isr) == set(p.replicas) for p in found
            )

        wait_until(is_in_sync, timeout_s, f"{topic} is in sync")


def seconds_told(screen: str, what: str) -> float:
    """Read how long a step took that a command told on the screen."""
    match = re.search(rf"{what}.*?([\d.]+) s", screen)
    assert match is not None, screen
    return float(match[1])
