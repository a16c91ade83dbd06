"""Fixtures of the tests with Spark: one session for all, a broker of its own for each module."""

import importlib.util
from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import SparkSession

from spark_pipeline.session import build_session
from tests.support.broker import Broker

IS_COMPLETE = all(importlib.util.find_spec(name) for name in ("numpy", "pandas", "pyarrow"))
collect_ignore_glob = [] if IS_COMPLETE else ["test_*.py"]

ALONE = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "2",
    "group.initial.rebalance.delay.ms": "0",
}


def pytest_report_header() -> str:
    """Say why there are no tests of Spark."""
    return "" if IS_COMPLETE else "tests/spark is left out: pip install 'kafkalike[spark]'"


@pytest.fixture(scope="module")
def kafka(broker_factory: Callable[..., Broker]) -> Broker:
    """One broker that has transactions."""
    return broker_factory(properties=ALONE)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A small session; a task that fails is tried four times."""
    directory = tmp_path_factory.mktemp("spark")
    session = build_session(
        "tests",
        "local[2,4]",
        {
            "spark.sql.shuffle.partitions": "2",
            "spark.default.parallelism": "2",
            "spark.sql.warehouse.dir": str(directory / "warehouse"),
            "spark.local.dir": str(directory / "local"),
            "spark.driver.memory": "1g",
            "spark.log.level": "ERROR",
        },
    )
    yield session
    session.stop()
