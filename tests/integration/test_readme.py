"""The client code that the README shows, run as it stands there."""

import re
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.support.broker import Broker
from tests.support.source_tree import ROOT

pytestmark = pytest.mark.ensemble

CODE = re.compile(r"```python\n(.+?)```", re.DOTALL)


def test_client_code_of_the_readme_works(broker_factory: Callable[..., Broker]) -> None:
    """M24: a client needs nothing but the address of a broker."""
    broker = broker_factory(properties={"offsets.topic.replication.factor": "1"})
    [code] = CODE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert code.count("localhost:9092") == 2
    done = subprocess.run(
        [sys.executable, "-c", code.replace("localhost:9092", broker.bootstrap_servers)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines() == [
        "0 b'truck-7' b'52.5,13.4'",
        "1 b'truck-7' b'52.6,13.5'",
    ], done.stderr
