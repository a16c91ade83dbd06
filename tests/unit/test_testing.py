"""The pytest plugin in the runs of others, who may not want it."""

import subprocess
import sys

import pytest

import kafkalike.testing

_LOADED = """
import sys
import kafkalike.testing.pytest_plugin
print(*sorted(name for name in sys.modules if name.partition(".")[0] in ("kafkalike", "twisted")))
"""
_USED = """
import sys
import kafkalike.testing.kafka_cluster
sys.exit("twisted.internet.reactor" in sys.modules)
"""


def test_plugin_costs_a_run_without_clusters_next_to_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [
        "kafkalike",
        "kafkalike.client",
        "kafkalike.client.lazy_names",
        "kafkalike.testing",
        "kafkalike.testing.pytest_plugin",
    ]


def test_global_reactor_is_left_to_the_tests() -> None:
    assert subprocess.run([sys.executable, "-c", _USED], check=False).returncode == 0


def test_name_that_is_not_there_is_an_attribute_error() -> None:
    assert kafkalike.testing.KafkaCluster.__name__ == "KafkaCluster"
    with pytest.raises(AttributeError, match="ZooKeeperCluster"):
        kafkalike.testing.ZooKeeperCluster  # type: ignore[attr-defined]  # noqa: B018
