"""The fixtures that pytest finds by itself once kafkalike is installed (docs/testing.md).

Loaded in every run of pytest, wanted or not: so it imports the rest only when a cluster is wanted.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:  # importing it costs more than many test runs take
    from kafkalike.testing import KafkaCluster

_MARKER: Final = (
    "kafka_topic(partitions=1, replication_factor=-1): what the fixture kafka_topic makes"
)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture(scope="session")
def kafka_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator["KafkaCluster"]:
    """Three brokers for the whole run; a test that breaks one mends it again."""
    with _running(tmp_path_factory) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator["KafkaCluster"]:
    """A cluster of one broker for the whole run: the quickest thing that is Kafka."""
    with _running(tmp_path_factory, brokers=1) as cluster:
        yield cluster


@pytest.fixture
def make_kafka_cluster(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[..., "KafkaCluster"]]:
    """Start clusters for one test: `make_kafka_cluster(brokers=3, min_insync_replicas=2)`."""
    with ExitStack() as stack:

        def make(brokers: int = 3, zookeepers: int = 1, **configs: object) -> "KafkaCluster":
            return stack.enter_context(_running(tmp_path_factory, brokers, zookeepers, configs))

        yield make


@pytest.fixture
def kafka_topic(kafka_cluster: "KafkaCluster", request: pytest.FixtureRequest) -> str:
    """A fresh topic of `kafka_cluster`; the marker `kafka_topic` shapes it."""
    marker = request.node.get_closest_marker("kafka_topic")
    arguments = dict(marker.kwargs) if marker is not None else {}
    number = len(kafka_cluster.view().partitions)
    name = "".join(c if c.isalnum() or c in "._-" else "-" for c in request.node.name)
    return kafka_cluster.create_topic(f"{name[:200]}-{number}", **arguments)


@contextmanager
def _running(
    tmp_path_factory: pytest.TempPathFactory,
    brokers: int = 3,
    zookeepers: int = 1,
    configs: dict[str, object] | None = None,
) -> Iterator["KafkaCluster"]:
    """Run a cluster in a folder that is gone afterwards: pytest would keep its large logs."""
    import shutil

    from kafkalike.testing import KafkaCluster

    directory = tmp_path_factory.mktemp("kafka-cluster")
    try:
        with KafkaCluster(
            directory, brokers=brokers, zookeepers=zookeepers, configs=configs
        ) as cluster:
            yield cluster
    finally:
        shutil.rmtree(directory, ignore_errors=True)
