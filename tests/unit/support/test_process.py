import signal
import sys
from pathlib import Path

import pytest

from tests.support.broker import answers_api_versions
from tests.support.ports import free_ports
from tests.support.process import Process, ProcessEnded
from tests.support.waiting import wait_until


def _python(tmp_path: Path, code: str) -> Process:
    return Process("child", [sys.executable, "-u", "-c", code], tmp_path / "child.log")


def test_free_ports_are_all_different() -> None:
    ports = free_ports(50)
    assert len(set(ports)) == 50
    assert not any(map(answers_api_versions, ports[:3]))


def test_process_keeps_its_output_and_ends_by_sigterm(tmp_path: Path) -> None:
    with _python(tmp_path, "import time; print('up'); time.sleep(60)") as child:
        child.wait_for_log("up")
        assert child.is_alive
        assert child.rss_bytes() > 1 << 20
        assert child.cpu_seconds() >= 0
        assert child.terminate() == -signal.SIGTERM
    assert not child.is_alive


def test_process_that_ended_is_reported_at_once_with_its_log(tmp_path: Path) -> None:
    child = _python(tmp_path, "print('no such thing'); raise SystemExit(3)")
    child.start()
    with pytest.raises(ProcessEnded, match=r"(?s)ended with 3.*no such thing"):
        child.wait_for_log("up", timeout_s=60)


def test_kill_reaches_what_the_process_started(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', \"import time; print('grandchild', flush=True);"
        ' time.sleep(60)"])\n'
        "time.sleep(60)"
    )
    child = _python(tmp_path, code)
    child.start()
    child.wait_for_log("grandchild")
    grandchild = next(
        int(pid) for pid in Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
    )
    assert child.kill() == -signal.SIGKILL
    status = Path(f"/proc/{grandchild}/status")
    wait_until(lambda: not status.exists() or "State:\tZ" in status.read_text())


def test_second_start_begins_a_new_log_section(tmp_path: Path) -> None:
    child = _python(tmp_path, "print('once')")
    for _ in range(2):
        child.start()
        assert child.wait() == 0
        assert child.log_text() == "once\n"
    assert child.log.read_text() == "once\nonce\n"
