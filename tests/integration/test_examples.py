"""The programs of docs/examples run, and print what they say they print."""

import ast
import subprocess
import sys
import textwrap
from collections.abc import Callable

import pytest

from tests.support.broker import Broker
from tests.support.source_tree import ROOT

pytestmark = [pytest.mark.ensemble, pytest.mark.long]

EXAMPLES = sorted(ROOT.glob("docs/examples/*.py"))
HELPERS = {"fresh_topic"}
ONE_BROKER = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
}


@pytest.fixture(scope="module")
def servers(broker_factory: Callable[..., Broker]) -> str:
    return broker_factory(properties=ONE_BROKER).bootstrap_servers


def promised(docstring: str) -> str:
    """Return the indented lines of a docstring: what the program prints."""
    lines = [line for line in docstring.splitlines() if line.startswith("    ")]
    return textwrap.dedent("\n".join(lines))


@pytest.mark.parametrize("name", [path.stem for path in EXAMPLES if path.stem not in HELPERS])
def test_example_prints_what_it_says(servers: str, name: str) -> None:
    """M45, M62, M82, M84: the use cases, truck ids, a partitioner, the risk of auto commit."""
    path = ROOT / f"docs/examples/{name}.py"
    docstring = ast.get_docstring(ast.parse(path.read_text()), clean=False)
    done = subprocess.run(
        [sys.executable, str(path), servers],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert not done.stderr
    assert done.stdout.strip() == promised(docstring or "")
    assert done.returncode == 0
