"""`kafkalike explain` on a real cluster: when a broker is killed, and when members come and go."""

import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kafkalike.client import KafkaConsumer, KafkaProducer
from kafkalike.protocol.errors import NotEnoughReplicasError
from tests.support.cluster import KAFKALIKE, Cluster
from tests.support.ensemble import Ensemble
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.ensemble, pytest.mark.long]


@pytest.fixture(scope="module")
def cluster(ensemble: Ensemble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Brokers 1, 2 and 3."""
    directory = tmp_path_factory.mktemp("explain") / "cluster"
    settings = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "4"}
    with Cluster(directory, f"{ensemble.connect_string}/explain") as cluster:
        cluster.up("--first-id", 1, settings=settings)
        yield cluster


def explain(cluster: Cluster, *arguments: str) -> str:
    command = [*KAFKALIKE, "explain", *arguments, "--bootstrap-server", cluster.bootstrap_servers]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_killed_broker_is_why_replicas_lag_and_acks_all_is_refused(cluster: Cluster) -> None:
    configs = {"min.insync.replicas": "2"}
    cluster.create_topic("orders", assignment=[[3, 1], [1, 2]], configs=configs)
    cluster.create_topic("lonely", assignment=[[3]])
    with KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, acks="all") as producer:
        producer.send("orders", b"before", partition=0).get(timeout=10)
        assert "Nothing is the matter." in explain(cluster, "topic", "orders")

        cluster.run("kill", 3)
        wait_until(lambda: cluster.partition("orders").leader == 1, 30)
        said = explain(cluster, "topic", "orders")
        assert "Brokers 1 and 2 are up" in said
        assert "Broker 1 leads, since leader epoch 1: from offset 1 on, nothing was written" in said
        assert "Broker 3 is meant to lead and is away." in said
        assert "Broker 3 is not in sync: it is away." in said
        assert "acks=all is refused (NOT_ENOUGH_REPLICAS): min.insync.replicas is 2 (set" in said
        assert said.endswith("1 partition with a problem.\n")
        with pytest.raises(NotEnoughReplicasError):
            _send_once(cluster)
    assert "only broker 3 has all acknowledged records" in explain(cluster, "topic", "lonely")

    cluster.run("start", 3)
    cluster.wait_until_in_sync("orders")
    assert "Nothing is the matter." in explain(cluster, "topic", "orders")


def _send_once(cluster: Cluster) -> None:
    servers = cluster.bootstrap_servers
    with KafkaProducer(bootstrap_servers=servers, acks="all", retries=0) as producer:
        producer.send("orders", b"refused", partition=0).get(timeout=10)


def test_explanation_of_a_topic_is_json_for_programs(cluster: Cluster) -> None:
    cluster.create_topic("plain", assignment=[[1, 2]])
    found = json.loads(explain(cluster, "topic", "plain", "--output", "json"))
    (partition,) = found["partitions"]
    assert found["topic"] == "plain"
    assert (partition["leader"], partition["replicas"], partition["isr"]) == (1, [1, 2], [1, 2])
    assert partition["log_end_offsets"] == {"1": 0, "2": 0}
    assert [finding["about"] for finding in partition["findings"]] == ["leader"]


def test_unknown_names_are_errors_that_say_what_to_do(cluster: Cluster) -> None:
    for kind, tool in (("topic", "kafka-topics"), ("group", "kafka-consumer-groups")):
        command = [*KAFKALIKE, "explain", kind, "nosuch"]
        options = ["--bootstrap-server", cluster.bootstrap_servers]
        done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1
        assert f"There is no {kind} nosuch" in done.stderr
        assert f"{tool} --bootstrap-server" in done.stderr


def _member(cluster: Cluster, client_id: str) -> KafkaConsumer:
    return KafkaConsumer(
        "read",
        bootstrap_servers=cluster.bootstrap_servers,
        group_id="readers",
        client_id=client_id,
        auto_offset_reset="earliest",
    )


def test_member_that_joins_and_one_that_goes_are_why_a_group_rebalances(cluster: Cluster) -> None:
    cluster.create_topic("read", assignment=[[1], [2]])
    first, second = _member(cluster, "first"), _member(cluster, "second")
    wait_until(lambda: first.poll(100) is not None and len(first.assignment()) == 2, 30)
    assert "It is stable since" in explain(cluster, "group", "readers")

    with ThreadPoolExecutor(1) as threads:
        joining = threads.submit(_poll_until_assigned, second)
        wait_until(lambda: "PreparingRebalance" in explain(cluster, "group", "readers"), 30)
        said = explain(cluster, "group", "readers")
        assert "It rebalances, because second at 127.0.0.1 wants to join." in said
        assert "It waits until first at 127.0.0.1 joined again" in said
        wait_until(lambda: first.poll(100) is not None and joining.done(), 30)
    said = explain(cluster, "group", "readers")
    assert "with 2 members: second at 127.0.0.1 joined." in said
    assert "first at 127.0.0.1 reads read-" in said

    second.close()
    wait_until(lambda: first.poll(100) is not None and len(first.assignment()) == 2, 30)
    assert "with 1 member: second at 127.0.0.1 left" in explain(cluster, "group", "readers")
    first.close()
    found = json.loads(explain(cluster, "group", "readers", "--output", "json"))
    assert found["state"] == "Empty"
    assert [len(one["members"]) for one in found["generations"]] == [1, 2, 1, 0]


def _poll_until_assigned(consumer: KafkaConsumer) -> Any:
    return wait_until(lambda: consumer.poll(100) is not None and consumer.assignment(), 30)
