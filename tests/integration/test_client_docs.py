"""The examples of docs/client.md run."""

import re
import subprocess
import sys
from collections.abc import Callable

import pytest

from kafkalike.client import KafkaAdminClient, NewTopic
from tests.support.broker import Broker
from tests.support.source_tree import ROOT

pytestmark = pytest.mark.ensemble

EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "docs/client.md").read_text(), re.DOTALL)
ONE_BROKER = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}


@pytest.fixture(scope="module")
def servers(broker_factory: Callable[..., Broker]) -> str:
    servers = broker_factory(properties=ONE_BROKER).bootstrap_servers
    with KafkaAdminClient(bootstrap_servers=servers) as admin:
        admin.create_topics([NewTopic("orders", 3, 1)], wait_for_metadata=True)
    return servers


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example_runs(servers: str, number: int) -> None:
    code = EXAMPLES[number].replace("localhost:9092", servers)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
