"""The examples of docs/spark.md run as they stand there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from spark_pipeline.cli.generate import send
from spark_pipeline.generators import trucks
from spark_pipeline.generators.events import Plan
from spark_pipeline.session import prepare_environment
from tests.spark.topics import committed_values, create_topic
from tests.support.broker import Broker
from tests.support.source_tree import ROOT

pytestmark = [pytest.mark.ensemble, pytest.mark.long]

TEXT = (ROOT / "docs/spark.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_examples_run(kafka: Broker, tmp_path: Path) -> None:
    """M82: what the documentation shows."""
    create_topic(kafka, "trucks")
    create_topic(kafka, "trucks-copy")
    send(trucks.generate, Plan(count=100), {"bootstrap.servers": kafka.bootstrap_servers})
    environ = dict(os.environ)
    prepare_environment(environ)
    assert len(EXAMPLES) == 2
    for example in EXAMPLES:
        code = example.replace("localhost:9092", kafka.bootstrap_servers)
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=180,
            cwd=tmp_path,
            env=environ,
        )
        assert done.returncode == 0, done.stderr
    assert sorted(map(str, committed_values(kafka, "trucks-copy"))) == sorted(
        map(str, committed_values(kafka, "trucks"))
    )
