"""Fixtures that every kind of test shares; what they start lives in tests/support."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support import apache_kafka
from tests.support.broker import Broker
from tests.support.ensemble import Ensemble, start_ensemble
from tests.support.log_observer import FailureObserver

_chroot_numbers = itertools.count(1)

# How long an example takes depends on what else the machine does: no test is about that.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


@pytest.fixture(autouse=True)
def logged_failures() -> Iterator[FailureObserver]:
    """Fail a test that logged a failure it did not `expect()`."""
    observer = FailureObserver()
    observer.install()
    yield observer
    observer.remove()
    observer.assert_none()


@pytest.fixture(scope="session")
def apache_kafka_tools() -> Callable[..., apache_kafka.ToolResult]:
    """`run_tool(main_class, *args, input=None, timeout=60)` of the real Kafka 2.8.2, or a skip."""
    if apache_kafka.apache_kafka_libs() is None:
        pytest.skip(apache_kafka.why_no_apache_kafka())
    return apache_kafka.run_tool


@pytest.fixture(scope="session")
def ensemble(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ensemble]:
    """Three ZooKeeper servers that all tests share; a test that breaks them starts its own."""
    started = start_ensemble(tmp_path_factory.mktemp("zookeeper"), 3)
    yield started
    started.stop()


@pytest.fixture(scope="module")
def broker_factory(
    ensemble: Ensemble, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Broker]]:
    """Start brokers: `broker_factory(broker_id=1, properties={...}, is_started=True)`.

    All brokers of one test module share a chroot of the ensemble, so they are one cluster and see
    nothing of other modules. They end with the module.
    """
    connect = f"{ensemble.connect_string}/test-{next(_chroot_numbers)}"
    directory = tmp_path_factory.mktemp("brokers")
    brokers: list[Broker] = []

    def make(
        *, broker_id: int = 1, properties: Mapping[str, str] | None = None, is_started: bool = True
    ) -> Broker:
        home: Path = directory / f"{len(brokers)}-broker-{broker_id}"
        broker = Broker(home, connect, broker_id=broker_id, properties=properties)
        brokers.append(broker)
        if is_started:
            broker.start()
        return broker

    yield make
    for broker in reversed(brokers):
        broker.terminate()


@pytest.fixture(scope="module")
def broker(broker_factory: Callable[..., Broker]) -> Broker:
    """One running broker for the tests of a module."""
    return broker_factory()


# What starts whole clusters, Java clients or many brokers: `scripts/test --all` runs it too.
_LONG = (
    "tests/chaos/test_chaos.py",
    "tests/chaos/test_transactional_chaos.py",
    "tests/conformance/",
    "tests/integration/test_abuse.py",
    "tests/integration/test_broker_changes.py",
    "tests/integration/test_broker_command.py",
    "tests/integration/test_broker_listeners.py",
    "tests/integration/test_broker_log_dirs.py",
    "tests/integration/test_broker_registration.py",
    "tests/integration/test_broker_zookeeper.py",
    "tests/integration/test_client",
    "tests/integration/test_cluster_",
    "tests/integration/test_compaction.py",
    "tests/integration/test_ensemble.py",
    "tests/integration/test_forwarding.py",
    "tests/integration/test_gateway.py",
    "tests/integration/test_groups",
    "tests/integration/test_many_topics.py",
    "tests/integration/test_secure_cluster.py",
    "tests/integration/test_security_docs.py",
    "tests/integration/test_transactions",
    "tests/integration/test_wire_fuzz.py",
    "tests/integration/test_zookeeper_security.py",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as `long` what the short run leaves out."""
    for item in items:
        if item.nodeid.startswith(_LONG):
            item.add_marker(pytest.mark.long)
