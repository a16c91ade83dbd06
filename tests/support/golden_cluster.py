"""A cluster like the one that `tests/golden/cli` was recorded from: brokers 1, 2, 3."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kafkalike.client import KafkaAdminClient, KafkaProducer, NewTopic
from tests.support.cli_golden import GoldenCommands
from tests.support.cluster import Cluster

SETTINGS = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "super.users": "User:ANONYMOUS",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "replica.lag.time.max.ms": "5000",
    "group.initial.rebalance.delay.ms": "0",
}


class GoldenCluster:
    """The cluster, and the recorded commands to run against it."""

    def __init__(self, cluster: Cluster, directory: Path, zookeeper: str) -> None:
        self.cluster = cluster
        self.directory = directory
        addresses = {
            f"127.0.0.1:1910{broker_id}": f"127.0.0.1:{cluster.broker(broker_id)['port']}"
            for broker_id in (1, 2, 3)
        }
        addresses["127.0.0.1:19000"] = zookeeper
        addresses["/var/lib/kafka"] = str(directory)
        self.commands = GoldenCommands(directory, addresses)
        self.compare = self.commands.compare

    def create(
        self,
        name: str,
        placement: Sequence[Sequence[int]],
        configs: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic whose replicas are where they were when the commands were recorded."""
        topic = NewTopic(name, replica_assignments=dict(enumerate(placement)))
        if configs:
            topic = NewTopic(name, -1, -1, topic.replica_assignments, configs)
        with KafkaAdminClient(bootstrap_servers=self.cluster.bootstrap_servers) as admin:
            admin.create_topics([topic], wait_for_metadata=True)

    def fill(self, topic: str, counts: Sequence[int], size: int = 1) -> None:
        """Produce that many records to each partition."""
        with KafkaProducer(
            bootstrap_servers=self.cluster.bootstrap_servers, acks="all"
        ) as producer:
            for partition, count in enumerate(counts):
                for _ in range(count):
                    producer.send(topic, b"x" * size, partition=partition)


@contextlib.contextmanager
def golden_cluster(directory: Path, zookeeper: str) -> Iterator[GoldenCluster]:
    """Run the cluster in a directory of its own."""
    settings = SETTINGS | {"log.dirs": f"{directory}/data-{{id}}a,{directory}/data-{{id}}b"}
    with Cluster(directory / "cluster", zookeeper) as cluster:
        cluster.up("--first-id", 1, settings=settings)
        yield GoldenCluster(cluster, directory, zookeeper)
