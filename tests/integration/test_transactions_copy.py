"""Exactly once: a topic is copied in transactions while brokers are killed under the copier."""

import threading
from collections.abc import Iterator

import pytest

from tests.support.clients.copying import TransactionalCopier, read_values
from tests.support.cluster import Cluster
from tests.support.ensemble import Ensemble
from tests.support.traffic import write_numbers
from tests.support.waiting import wait_until
from tests.support.wire_transactions import TRANSACTION_KEY, wait_for_coordinator

pytestmark = pytest.mark.ensemble

BROKERS = (101, 102, 103)
PARTITIONS = 2
COUNT = 2_000
SETTINGS = {
    "transaction.state.log.num.partitions": "6",
    "offsets.topic.num.partitions": "6",
    "group.initial.rebalance.delay.ms": "0",
}


@pytest.fixture(scope="module")
def cluster(ensemble: Ensemble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    directory = tmp_path_factory.mktemp("copy") / "cluster"
    with Cluster(directory, f"{ensemble.connect_string}/transactions-copy") as cluster:
        cluster.up("--first-id", BROKERS[0], settings=SETTINGS)
        yield cluster


class Copy:
    """A copier in a thread of its own; its errors end the test."""

    def __init__(self, cluster: Cluster, source: str, target: str, transactional_id: str) -> None:
        self._is_stopping = threading.Event()
        self._failures: list[BaseException] = []
        self._arguments = (cluster.bootstrap_servers, source, target)
        self._transactional_id = transactional_id
        self.copier: TransactionalCopier | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.copier = TransactionalCopier(
                *self._arguments,
                transactional_id=self._transactional_id,
                group=self._transactional_id,
            )
            self.copier.copy(self._is_stopping.is_set, size=20, aborts_every=7)
            self.copier.close()
        except BaseException as failure:  # noqa: BLE001 (raised again where the test sees it)
            self._failures.append(failure)

    def wait_for(self, more: int, timeout_s: float = 90.0) -> None:
        """Wait until so many more transactions have begun."""
        wanted = self._transactions + more
        wait_until(
            lambda: self._transactions >= wanted or self._failures, timeout_s, "more transactions"
        )
        self._check()

    @property
    def _transactions(self) -> int:
        return 0 if self.copier is None else self.copier.transactions

    def stop(self) -> None:
        self._is_stopping.set()
        self._thread.join(120)
        assert not self._thread.is_alive()
        self._check()

    def _check(self) -> None:
        if self._failures:
            raise self._failures[0]


def coordinator_of(cluster: Cluster, transactional_id: str) -> int:
    view = cluster.view()
    with cluster.connect(view.controller.id) as client:
        return wait_for_coordinator(client, transactional_id, TRANSACTION_KEY)


def test_copy_is_exact_while_coordinators_and_leaders_are_killed(cluster: Cluster) -> None:
    for topic in ("source", "target"):
        cluster.create_topic(topic, partitions=PARTITIONS, replication_factor=3)
    for partition in range(PARTITIONS):
        write_numbers(cluster.bootstrap_servers, "source", COUNT, partition)
    copy = Copy(cluster, "source", "target", "copier")
    try:
        copy.wait_for(5)
        for victim in (
            lambda: coordinator_of(cluster, "copier"),
            lambda: cluster.partition("target").leader,
            lambda: cluster.partition("source", 1).leader,
        ):
            killed = victim()
            cluster.run("kill", killed)
            copy.wait_for(5)
            cluster.run("start", killed)
            for topic in ("target", "source", "__transaction_state", "__consumer_offsets"):
                cluster.wait_until_in_sync(topic, 60)
        values = _await_copy(cluster)
    finally:
        copy.stop()
    assert copy.copier is not None
    assert copy.copier.aborts > 0
    for partition in range(PARTITIONS):
        assert values[partition] == list(range(COUNT))


def _await_copy(cluster: Cluster) -> list[list[int]]:
    """Wait until everything is copied, then read what is there, each partition in its order."""
    expected = COUNT * PARTITIONS

    def is_copied() -> bool:
        found = read_values(
            cluster.bootstrap_servers, "target", expected, partitions=PARTITIONS, timeout_s=5
        )
        return len(found) >= expected

    wait_until(is_copied, 180, "the copy")
    return [
        [
            int(value)
            for value in read_values(
                cluster.bootstrap_servers, "target", COUNT + 1, partition=partition, timeout_s=5
            )
        ]
        for partition in range(PARTITIONS)
    ]
