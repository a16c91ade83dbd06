"""Breaks one process at a time, by plan or by dice, and mends it again."""

import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from kafkalike.coordinator.partitioning import partition_for
from kafkalike.launcher.cluster_view import ClusterView, PartitionView, view_from_any
from kafkalike.launcher.fork_server import ForkServer
from kafkalike.launcher.local_cluster import LocalCluster
from kafkalike.launcher.starting import start_brokers
from kafkalike.model.topic_partition import TopicPartition
from tests.support.waiting import wait_until

FAULTS = ("stop", "kill", "pause")
ROLES = ("leader", "controller", "follower", "zookeeper leader")


@dataclass(frozen=True, slots=True)
class Wound:
    """What was done to whom, and how to undo it."""

    fault: str
    role: str
    victim: str
    heal: Callable[[], None]


class Nemesis:
    """Chooses its victims among the processes of a local cluster.

    `coordinators` are further roles: the internal topic, and the id that somebody coordinates.
    """

    def __init__(
        self,
        cluster: LocalCluster,
        fork_server: ForkServer,
        topic: str,
        random: Random,
        coordinators: Mapping[str, tuple[str, str]],
    ) -> None:
        self._cluster = cluster
        self._fork_server = fork_server
        self._topic = topic
        self._random = random
        self._coordinators = coordinators

    def view(self) -> ClusterView:
        """Ask any broker that runs what the cluster looks like."""
        running = [b for b in self._cluster.brokers.values() if b.is_running]
        return view_from_any([("127.0.0.1", broker.port) for broker in running])

    def strike(self, fault: str, role: str) -> Wound:
        """Break the process that has a role now."""
        if role == "zookeeper leader":
            return self._strike_zookeeper(fault)
        broker = self._cluster.broker(self._broker_with(role))
        if fault == "stop":
            broker.terminate()
            assert broker.wait_until_ended(60), f"{broker} does not stop"
        elif fault == "kill":
            broker.kill()
        else:
            broker.send_signal(signal.SIGSTOP)
            return Wound(fault, role, str(broker), lambda: broker.send_signal(signal.SIGCONT))
        return Wound(
            fault,
            role,
            str(broker),
            lambda: start_brokers([broker], self._fork_server, lambda _: None),
        )

    def _strike_zookeeper(self, fault: str) -> Wound:
        ensemble = self._cluster.ensemble
        assert ensemble is not None
        server = wait_until(lambda: ensemble.leader, 30, "a ZooKeeper leader")
        if fault == "pause":
            pid = server.pid
            assert pid is not None
            os.kill(pid, signal.SIGSTOP)
            return Wound(
                fault, "zookeeper leader", str(server), lambda: os.kill(pid, signal.SIGCONT)
            )
        if fault == "stop":
            server.stop()
        else:
            server.kill()
        return Wound(fault, "zookeeper leader", str(server), server.start)

    def _broker_with(self, role: str) -> int:
        def find() -> int | None:
            view = self.view()
            if role == "controller":
                return view.controller_id if view.controller_id >= 0 else None
            if role in self._coordinators:
                return _leader_of(_coordinating(view, *self._coordinators[role]))
            partitions = [p for tp, p in view.partitions.items() if tp.topic == self._topic]
            partition = self._random.choice(partitions)
            if role == "leader":
                return _leader_of(partition)
            followers = [b for b in partition.replicas if b != partition.leader]
            return self._random.choice(followers)

        # 0 is a broker's id, and no answer at all: hence the tuple.
        found = wait_until(
            lambda: None if (broker_id := find()) is None else (broker_id,), 30, f"a {role}"
        )
        return found[0]

    def wait_until_healed(self, timeout_s: float = 120) -> None:
        """Wait until every replica of every partition is in sync again."""

        def is_healed() -> bool:
            view = self.view()
            is_led = all(p.leader >= 0 for p in view.partitions.values())
            is_complete = len(view.brokers) == len(self._cluster.brokers)
            return is_complete and is_led and not view.under_replicated()

        wait_until(is_healed, timeout_s, "all replicas in sync")


def _leader_of(partition: PartitionView | None) -> int | None:
    return None if partition is None or partition.leader < 0 else partition.leader


def _coordinating(view: ClusterView, topic: str, key: str) -> PartitionView | None:
    """Return the partition whose leader coordinates a group or transactional id."""
    count = sum(tp.topic == topic for tp in view.partitions)
    return view.partitions[TopicPartition(topic, partition_for(key, count))] if count else None
