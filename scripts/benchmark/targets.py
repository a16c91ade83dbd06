"""What is measured: a broker that can be started, watched and stopped."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.apache_kafka import ApacheKafka, apache_kafka_libs, why_no_apache_kafka
from tests.support.broker import Broker
from tests.support.ensemble import start_ensemble

# The same for everybody; the rest are Kafka's defaults. Deleted topics go soon, to free the disk.
_PROPERTIES = {
    "auto.create.topics.enable": "false",
    "log.segment.delete.delay.ms": "1000",
    "log.cleaner.backoff.ms": "1000",
}

# What Kafka's own start script gives the JVM (bin/kafka-run-class.sh, kafka-server-start.sh).
_JVM_OPTIONS = (
    "-Xmx1G",
    "-Xms1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:MaxInlineLevel=15",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Running brokers, one or a cluster; each target has a ZooKeeper of its own."""

    name: str
    bootstrap_servers: str
    pids: tuple[int, ...]
    seconds_to_first_answer: float


@contextmanager
def kafkalike(directory: Path, count: int) -> Iterator[Target]:
    """Brokers of ours with one embedded ZooKeeper server."""
    ensemble = start_ensemble(directory / "zookeeper", 1)
    brokers = [
        Broker(
            directory / f"broker-{number}",
            ensemble.connect_string,
            broker_id=number,
            properties={
                **_PROPERTIES,
                "group.initial.rebalance.delay.ms": "0",
                "offsets.topic.replication.factor": str(min(3, count)),
            },
        )
        for number in range(1, count + 1)
    ]
    with ExitStack() as stack:
        stack.callback(ensemble.stop)
        for broker in brokers:
            stack.callback(broker.terminate)
            broker.start()
        yield Target(
            name="kafkalike",
            bootstrap_servers=",".join(broker.bootstrap_servers for broker in brokers),
            pids=tuple(broker.pid for broker in brokers),
            seconds_to_first_answer=brokers[0].seconds_to_first_answer,
        )


@contextmanager
def apache_kafka(directory: Path, count: int) -> Iterator[Target]:
    """Brokers of Apache Kafka 2.8.2 with the ZooKeeper that it comes with."""
    if apache_kafka_libs() is None:
        raise SystemExit(why_no_apache_kafka())
    with ApacheKafka(
        directory, brokers=count, properties=_PROPERTIES, jvm_options=_JVM_OPTIONS
    ) as cluster:
        yield Target(
            name="Apache Kafka 2.8.2",
            bootstrap_servers=cluster.bootstrap_servers,
            pids=tuple(broker.pid for broker in cluster.brokers.values()),
            seconds_to_first_answer=min(cluster.seconds_to_first_answer.values()),
        )


TARGETS: dict[str, Callable[[Path, int], AbstractContextManager[Target]]] = {
    "kafkalike": kafkalike,
    "kafka": apache_kafka,
}
