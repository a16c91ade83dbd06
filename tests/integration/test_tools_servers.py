"""The server scripts as a user of Kafka types them: in the background, and ended by their files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli_golden import run_tool
from tests.support.ports import free_port
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.ensemble, pytest.mark.long]


def test_servers_start_in_the_background_and_stop(tmp_path: Path) -> None:
    """M84: zookeeper-server-start, kafka-server-start, work, and both -stop."""
    zookeeper, broker = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    (tmp_path / "zookeeper.properties").write_text(
        f"dataDir={tmp_path}/zookeeper\nclientPort={zookeeper.split(':')[1]}\n"
        "admin.enableServer=false\n"
    )
    (tmp_path / "server.properties").write_text(
        f"broker.id=7\nlisteners=PLAINTEXT://{broker}\nlog.dirs={tmp_path}/data\n"
    )
    try:
        _tool(tmp_path, "zookeeper-server-start", "-daemon", "zookeeper.properties")
        wait_until(lambda: run_tool("zookeeper-shell", [zookeeper, "ls", "/"]).exit == 0, 60)
        override = ["--override", f"zookeeper.connect={zookeeper}"]
        _tool(tmp_path, "kafka-server-start", "-daemon", "server.properties", *override)
        log = tmp_path / "logs" / "kafkaServer.out"
        wait_until(lambda: "is started" in log.read_text(), 60)
        made = run_tool("kafka-topics", f"--bootstrap-server {broker} --create --topic x".split())
        assert made.stdout == "Created topic x.\n"
        shown = run_tool("zookeeper-shell", [zookeeper, "ls", "/brokers/ids"])
        assert shown.stdout.splitlines()[-1] == "[7]"
    finally:
        _tool(tmp_path, "kafka-server-stop", "server.properties", exit_code=None)
        wait_until(lambda: not _runs("server.properties", tmp_path), 60)
        _tool(tmp_path, "zookeeper-server-stop", "zookeeper.properties", exit_code=None)
        wait_until(lambda: not _runs("zookeeper.properties", tmp_path), 60)
    _tool(tmp_path, "kafka-server-stop", "server.properties", exit_code=1)


def _tool(directory: Path, name: str, *arguments: str, exit_code: int | None = 0) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kafkalike.cli.tools", name, *arguments],
        cwd=directory,
        env=os.environ | {"LOG_DIR": str(directory / "logs")},
        timeout=60,
    )
    assert exit_code in (None, done.returncode)


def _runs(config: str, directory: Path) -> bool:
    """Whether some server still has this file on its command line."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            here = (entry / "cwd").readlink()
        except OSError:
            continue
        named = {config.encode(), str(directory / config).encode()}
        if named & set(words) and here == directory and b"-stop" not in b"".join(words):
            return True
    return False
