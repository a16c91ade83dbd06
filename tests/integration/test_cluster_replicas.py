"""Replicas of a cluster: how many there are, which are in sync, who decides, and acks=all."""

import contextlib
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.cluster import Cluster
from tests.support.ensemble import Ensemble
from tests.support.traffic import read_numbers, write_numbers
from tests.support.waiting import wait_until
from tests.support.znode_client import ZnodeClient, znode_client

pytestmark = pytest.mark.ensemble

CHROOT = "/cluster-replicas"
BROKERS = (0, 1, 2)


@pytest.fixture(scope="module")
def shared(ensemble: Ensemble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three brokers that elect no preferred leaders by themselves."""
    directory = tmp_path_factory.mktemp("replicas") / "cluster"
    with Cluster(directory, ensemble.connect_string + CHROOT) as cluster:
        cluster.up(settings={"auto.leader.rebalance.enable": "false"})
        yield cluster


@pytest.fixture
def cluster(shared: Cluster) -> Iterator[Cluster]:
    """The same, whose brokers all run before and after the test."""
    yield shared
    stopped = [broker["id"] for broker in shared.record["brokers"] if broker["pid"] is None]
    if stopped:
        shared.run("start", *stopped)


@pytest.fixture(scope="module")
def znodes(ensemble: Ensemble) -> Iterator[ZnodeClient]:
    with znode_client(ensemble.connect_string + CHROOT) as client:
        yield client


def _write(cluster: Cluster, topic: str, acks: str) -> KafkaError | None:
    """Write one record, trying for a few seconds; return why it was given up."""
    outcome: list[KafkaError | None] = []
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "acks": acks,
            "message.timeout.ms": 30_000,
            "retries": 0,
        }
    )
    producer.produce(topic, b"0", on_delivery=lambda error, _: outcome.append(error))
    assert not producer.flush(40)
    return outcome[0]


@pytest.mark.parametrize("factor", [1, 2, 3])
def test_partition_has_as_many_replicas_as_the_factor_says(cluster: Cluster, factor: int) -> None:
    """M33: each on a broker of its own, with the records on its disk."""
    topic = f"factor-{factor}"
    cluster.create_topic(topic, replication_factor=factor)
    write_numbers(cluster.bootstrap_servers, topic, 10)
    replicas = cluster.partition(topic).replicas
    assert len(set(replicas)) == factor
    for broker_id in replicas:
        (log_dir,) = cluster.broker(broker_id)["log_dirs"]
        assert cluster.directory.joinpath(log_dir, f"{topic}-0").is_dir()


def test_more_replicas_than_brokers_are_refused(cluster: Cluster) -> None:
    """M33: a broker holds one replica of a partition at most."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    with pytest.raises(KafkaException) as refused:
        admin.create_topics([NewTopic("too-many", 1, 4)])["too-many"].result(20)
    assert refused.value.args[0].code() == KafkaError.INVALID_REPLICATION_FACTOR
    assert "Replication factor: 4 larger than available brokers: 3" in str(refused.value)


def test_who_is_in_sync_is_told_by_every_broker_and_in_zookeeper(
    cluster: Cluster, znodes: ZnodeClient
) -> None:
    """M36, M69: leader, replicas and ISR, as they change when a follower goes and comes back."""
    cluster.create_topic("isr", assignment=[[0, 1, 2]])
    state = "/brokers/topics/isr/partitions/0/state"

    def isr() -> tuple[list[int], list[int]]:
        told = cluster.partition("isr")
        assert (told.leader, told.replicas) == (0, (0, 1, 2))
        written = znodes.json(state)
        assert written["leader"] == 0
        return sorted(told.isr), sorted(written["isr"])

    assert isr() == ([0, 1, 2], [0, 1, 2])
    cluster.run("kill", 2)
    wait_until(lambda: isr() == ([0, 1], [0, 1]), 20, "broker 2 out of the ISR")
    write_numbers(cluster.bootstrap_servers, "isr", 10)
    cluster.run("start", 2)
    wait_until(lambda: isr() == ([0, 1, 2], [0, 1, 2]), 30, "broker 2 in the ISR again")


def test_leader_is_elected_through_zookeeper(cluster: Cluster, znodes: ZnodeClient) -> None:
    """M69: the next replica in sync leads in the next epoch, and the znode says so."""
    cluster.create_topic("election", assignment=[[1, 2, 0]])
    state = "/brokers/topics/election/partitions/0/state"
    before = znodes.json(state)
    assert (before["leader"], before["leader_epoch"]) == (1, 0)
    cluster.run("kill", 1)
    wait_until(lambda: znodes.json(state)["leader"] == 2, 20, "another leader in ZooKeeper")
    after = znodes.json(state)
    assert (sorted(after["isr"]), after["leader_epoch"] > 0) == ([0, 2], True)
    assert after["controller_epoch"] == int(znodes.data("/controller_epoch") or b"-1")
    wait_until(lambda: cluster.partition("election").leader == 2, 10, "clients are told")


def test_another_broker_becomes_controller_when_the_controller_dies(
    cluster: Cluster, znodes: ZnodeClient
) -> None:
    """M40: the next epoch has another controller, which leads the partitions on."""
    cluster.create_topic("office", partitions=3, replication_factor=3)
    former = znodes.json("/controller")["brokerid"]
    epoch = int(znodes.data("/controller_epoch") or b"-1")
    cluster.run("kill", former)

    def successor() -> int | None:
        with contextlib.suppress(AssertionError):  # while there is none
            found: int = znodes.json("/controller")["brokerid"]
            return found if found != former else None
        return None

    # 0 is a broker's id, too.
    (found,) = wait_until(lambda: None if (s := successor()) is None else (s,), 20, "a controller")
    assert int(znodes.data("/controller_epoch") or b"-1") == epoch + 1
    wait_until(lambda: cluster.view().controller_id == found, 10, "clients are told")
    wait_until(
        lambda: former not in {cluster.partition("office", p).leader for p in range(3)},
        20,
        "all partitions led by others",
    )
    write_numbers(cluster.bootstrap_servers, "office", 30)


def test_acks_all_is_refused_when_too_few_replicas_are_in_sync(cluster: Cluster) -> None:
    """M49: with min.insync.replicas=2 and RF 3, one may go, two may not; nothing is lost."""
    configs = {"min.insync.replicas": "2"}
    cluster.create_topic("safe", assignment=[[0, 1, 2]], configs=configs)
    write_numbers(cluster.bootstrap_servers, "safe", 100)
    cluster.run("kill", 2)
    assert _write(cluster, "safe", "all") is None
    cluster.run("kill", 1)
    wait_until(lambda: cluster.partition("safe").isr == (0,), 20, "a single replica in sync")
    error = _write(cluster, "safe", "all")
    assert error is not None
    assert error.code() == KafkaError.NOT_ENOUGH_REPLICAS
    assert _write(cluster, "safe", "1") is None, "who asks for less may write"
    cluster.run("start", 1, 2)
    cluster.wait_until_in_sync("safe")
    assert _write(cluster, "safe", "all") is None
    assert set(read_numbers(cluster.bootstrap_servers, "safe", 1)) == set(range(100))
