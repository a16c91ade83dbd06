"""`python -m scripts.spark_benchmark`: both connectors read the same topics, in turn."""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from kafkalike.client import KafkaAdminClient, NewTopic
from kafkalike.client.simple_client import SimpleClient
from kafkalike.launcher.fork_server import ForkServer
from kafkalike.launcher.local_cluster import LocalCluster
from kafkalike.launcher.starting import start_brokers, stop_brokers, wait_until_registered
from kafkalike.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.zk.embedded.server_config import EnsembleConfig
from spark_pipeline import stock_connector
from spark_pipeline.session import prepare_environment

_PARTITIONS = 4
_BATCH = 500
_SIZES = {"100-bytes": 100, "1-kb": 1024}
_MEASURE = Path(__file__).with_name("measure.py")


@click.command()
@click.option("--records", default=1_000_000, show_default=True, help="In each topic.")
@click.option("--size", "sizes", multiple=True, type=click.Choice(list(_SIZES)), help="Only these.")
@click.option("--port", default=29092, show_default=True)
@click.option("--zk-port", default=22281, show_default=True)
def main(records: int, sizes: tuple[str, ...], port: int, zk_port: int) -> None:
    """Measure batch and streaming reads of small and large records."""
    with tempfile.TemporaryDirectory() as folder:
        ensemble = EnsembleConfig.at(zk_port, 1)
        cluster = LocalCluster.create(Path(folder) / "c", zookeeper=ensemble, settings={})
        broker = cluster.add_broker(0, port, broker_count=1)
        assert cluster.ensemble is not None
        try:
            cluster.ensemble.start()
            with ForkServer() as fork_server:
                start_brokers([broker], fork_server, lambda _: None)
            wait_until_registered([broker], cluster.brokers)
            topics = sizes or tuple(_SIZES)
            for topic in topics:
                _fill(port, topic, records, _SIZES[topic])
            _measure_both(cluster.bootstrap_servers, topics)
        finally:
            stop_brokers([broker], lambda _: None)
            cluster.ensemble.stop()


def _fill(port: int, topic: str, records: int, size: int) -> None:
    chance = random.Random(size)
    with KafkaAdminClient(bootstrap_servers=f"127.0.0.1:{port}") as admin:
        admin.create_topics([NewTopic(topic, _PARTITIONS, 1)], wait_for_metadata=True)
    builder = BatchBuilder()
    now_ms = time.time_ns() // 1_000_000  # What is older than a week would not stay.
    for number in range(_BATCH):
        builder.append(now_ms + number, b"%08d" % number, chance.randbytes(size))
    data = builder.build()
    with SimpleClient("127.0.0.1", port) as client:
        for number in range(records // _BATCH):
            part = PartitionProduceData(index=number % _PARTITIONS, records=data)
            topics = [TopicProduceData(name=topic, partition_data=[part])]
            answer = client.send(ProduceRequest(acks=1, timeout_ms=30_000, topic_data=topics))
            assert not answer.responses[0].partition_responses[0].error_code


def _measure_both(servers: str, topics: Sequence[str]) -> None:
    environ = dict(os.environ)
    prepare_environment(environ)
    native = _measure(sys.executable, "kafkalike", servers, topics, "", environ)
    home = stock_connector.cache_directory(os.environ)
    if not stock_connector.is_ready(home):
        click.echo(f"no stock connector in {home}: scripts/spark-connector fetch")
        stock: dict[str, dict[str, float]] = {}
    else:
        python = str(stock_connector.python(home))
        environ = stock_connector.environment(environ)
        environ |= {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python}
        jars = ",".join(map(str, stock_connector.jars(home)))
        stock = _measure(python, "kafka", servers, topics, jars, environ)
    click.echo(f"{'':28}{'kafkalike':>20}{'stock':>20}")
    for name, found in native.items():
        other = stock.get(name)
        shown = f"{other['wall_s']:9.1f} s {other['cpu_s']:6.1f} s" if other else "-"
        click.echo(f"{name:28}{found['wall_s']:9.1f} s {found['cpu_s']:6.1f} s {shown:>20}")


def _measure(
    python: str,
    source: str,
    servers: str,
    topics: Sequence[str],
    jars: str,
    environ: Mapping[str, str],
) -> dict[str, dict[str, float]]:
    settings = ["--master local[2]", "--driver-memory 2g", "--conf spark.ui.enabled=false"]
    if jars:
        settings.append(f"--jars {jars}")
    arguments = " ".join([*settings, "pyspark-shell"])
    process = subprocess.Popen(
        [python, str(_MEASURE), source, servers, *topics],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**environ, "PYSPARK_SUBMIT_ARGS": arguments},
        start_new_session=True,
    )
    assert process.stdout is not None
    found: dict[str, dict[str, float]] = {}
    for line in process.stdout:
        if line.startswith("RESULT "):
            result = json.loads(line.removeprefix("RESULT "))
            click.echo(f"{source:10} {result}")
            found[f"{result.pop('what')}, {result.pop('attempt')}"] = result
    process.wait()
    return found


if __name__ == "__main__":
    main()
