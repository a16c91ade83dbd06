"""docs/security.md does what it says: its files are written, its commands run, in order."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ports import free_ports
from tests.support.source_tree import ROOT
from tests.support.waiting import wait_until

pytestmark = pytest.mark.ensemble

PAGE = ROOT / "docs/security.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PORTS = ("2181", "9093", "9094")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """Run in a folder of its own; what was started is stopped."""
    yield tmp_path
    pid_file = tmp_path / "broker.pid"
    if pid_file.exists():
        os.kill(int(pid_file.read_text()), signal.SIGTERM)
    run(tmp_path, "kafkalike zookeeper down --dir zookeeper")


def run(place: Path, script: str) -> str:
    tools = Path(sys.executable).parent
    env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    output = place / "output"
    with output.open("w") as file:  # a pipe would be held open by what goes on in the background
        done = subprocess.run(
            ["bash", "-ec", script], cwd=place, env=env, stdout=file, stderr=file, timeout=180
        )
    said = output.read_text()
    assert done.returncode == 0, f"{script}\n{said}"
    return said


def test_page_is_true(place: Path) -> None:
    """M74: TLS, SCRAM, ACLs and quotas, by somebody who reads the page."""
    text = PAGE.read_text()
    for port, free in zip(PORTS, free_ports(len(PORTS)), strict=True):
        text = text.replace(f":{port}", f":{free}")
        if port == "2181":
            text = text.replace(
                "zookeeper up --servers 1", f"zookeeper up --servers 1 --port {free}"
            )
    said = ""
    for kind, block in BLOCK.findall(text):
        if kind == "properties":
            name = block.split()[1]
            (place / name).write_text(block)
        elif kind == "python":
            (place / "example.py").write_text(block)
            said += run(place, f"{sys.executable} example.py")
        else:
            said += run(place, block)
            if "kafkalike broker" in block:
                log = place / "broker.log"
                wait_until(lambda log=log: "is started" in log.read_text(), 60)  # type: ignore[misc]
    assert "hello" in said
    assert "producer_byte_rate=1048576" in said
    assert "secret" not in (place / "broker.log").read_text()
