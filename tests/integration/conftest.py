"""Fixtures of the tests that run against real servers."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ensemble import Ensemble
from tests.support.new_broker import NewBroker
from tests.support.reactor_thread import ReactorThread
from tests.support.znode_client import ZnodeClient, znode_client

_cluster_names = (f"cluster-{number}" for number in itertools.count(1))


@pytest.fixture(scope="session")
def reactor_thread() -> Iterator[ReactorThread]:
    """The real reactor, running in a thread."""
    thread = ReactorThread()
    yield thread
    thread.stop()


@pytest.fixture
def cluster_connect(ensemble: Ensemble) -> str:
    """`zookeeper.connect` of a cluster that no other test has."""
    return f"{ensemble.connect_string}/{next(_cluster_names)}"


@pytest.fixture
def new_broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewBroker]:
    """Make brokers that end with the test; they share the cluster `cluster_connect`."""
    brokers = NewBroker(tmp_path, lambda: request.getfixturevalue("cluster_connect"))
    yield brokers
    brokers.stop()


@pytest.fixture
def znodes(cluster_connect: str) -> Iterator[ZnodeClient]:
    """A look into the znodes of `cluster_connect`."""
    with znode_client(cluster_connect) as client:
        yield client
