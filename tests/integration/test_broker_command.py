"""`kafkalike broker` as a user starts and stops it: lines on screen, signals, exit codes."""

import contextlib
import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kazoo.client
import pytest

from tests.support.broker import Broker
from tests.support.ensemble import Ensemble
from tests.support.ports import free_port
from tests.support.waiting import wait_until

pytestmark = pytest.mark.ensemble

LINE = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (INFO|WARN|ERROR) .+ \([\w.]+\)")


@pytest.fixture
def zookeeper(ensemble: Ensemble) -> Iterator[Any]:
    """A client that looks at the znodes."""
    untyped: Any = kazoo.client.KazooClient
    client = untyped(ensemble.connect_string)
    client.start(timeout=30)
    yield client
    client.stop()
    client.close()


def _chroot(broker: Broker) -> str:
    return "/" + broker.properties["zookeeper.connect"].partition("/")[2]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_is_a_stop_in_order(
    broker_factory: Callable[..., Broker], zookeeper: Any, number: signal.Signals
) -> None:
    """M65: the registration of a broker that is stopped vanishes at once."""
    broker = broker_factory(broker_id=10)
    broker.wait_for_log("is started")
    registration = f"{_chroot(broker)}/brokers/ids/10"
    assert zookeeper.exists(registration)
    broker.send_signal(number)
    assert broker.wait() == 0
    assert not zookeeper.exists(registration)
    assert "Traceback" not in broker.log_text()


def test_everything_said_is_a_line_like_kafkas(broker_factory: Callable[..., Broker]) -> None:
    broker = broker_factory(broker_id=11)
    broker.wait_for_log("is started")
    broker.terminate()
    lines = broker.log_text().splitlines()
    assert lines
    assert not [line for line in lines if not LINE.fullmatch(line)]


def test_wrong_value_is_told_in_one_line(broker_factory: Callable[..., Broker]) -> None:
    broker = broker_factory(properties={"num.io.threads": "none"}, is_started=False)
    broker.start_without_waiting()
    assert broker.wait() == 1
    assert broker.log_text() == (
        "Error: Invalid value none for configuration num.io.threads: Not a number of type INT\n"
    )


def test_port_in_use_is_told_with_its_number(broker_factory: Callable[..., Broker]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        properties = {"listeners": f"PLAINTEXT://127.0.0.1:{port}"}
        broker = broker_factory(broker_id=12, properties=properties, is_started=False)
        broker.start_without_waiting()
        assert broker.wait(30) == 1
    assert f":{port}" in broker.log_text()
    assert "in use" in broker.log_text()
    assert "Traceback" not in broker.log_text()


def test_signal_ends_a_broker_that_still_waits_for_zookeeper(tmp_path: Path) -> None:
    nowhere = f"127.0.0.1:{free_port()}"
    soon = {"zookeeper.connection.timeout.ms": "500"}
    broker = Broker(tmp_path / "broker", nowhere, properties=soon)
    broker.start_without_waiting()
    try:
        broker.wait_for_log(nowhere)
    finally:
        exit_code = broker.terminate()
    assert exit_code == 0
    assert "Traceback" not in broker.log_text()


# --- the supervisor


@pytest.fixture
def supervised(ensemble: Ensemble, tmp_path: Path) -> Iterator[Broker]:
    """A broker below its supervisor, whose session would live for half a minute in silence."""
    connect = f"{ensemble.connect_string}/supervised-{tmp_path.name}"
    patient = {"zookeeper.session.timeout.ms": "30000"}
    broker = Broker(tmp_path / "b", connect, properties=patient, is_supervised=True)
    broker.start()
    broker.wait_for_log("is started")
    yield broker
    broker.terminate()


def test_crash_is_reported_to_zookeeper_at_once(supervised: Broker, zookeeper: Any) -> None:
    """M65: kill -9 of a broker: its znode vanishes, here without waiting for the time-out."""
    registration = f"{_chroot(supervised)}/brokers/ids/1"
    assert zookeeper.exists(registration)
    os.kill(supervised.broker_pid, signal.SIGKILL)
    assert supervised.wait() == -signal.SIGKILL, "the supervisor ends as the broker did"
    assert not zookeeper.exists(registration)
    assert LINE.fullmatch(supervised.log_text().splitlines()[-1])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_supervisor_hands_signals_on(
    supervised: Broker, zookeeper: Any, number: signal.Signals
) -> None:
    supervised.send_signal(number)
    assert supervised.wait() == 0
    assert not zookeeper.exists(f"{_chroot(supervised)}/brokers/ids/1")
    assert "Traceback" not in supervised.log_text()
    assert "cli.supervisor" not in supervised.log_text(), "there was nothing to clean up"


def test_signal_to_the_whole_group_is_one_stop(supervised: Broker) -> None:
    os.killpg(supervised.pid, signal.SIGTERM)
    assert supervised.wait() == 0
    assert "Traceback" not in supervised.log_text()
    assert "cut short" not in supervised.log_text()


def test_supervisor_ends_with_the_exit_code_of_the_broker(
    ensemble: Ensemble, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        properties = {"listeners": f"PLAINTEXT://127.0.0.1:{taken.getsockname()[1]}"}
        connect = f"{ensemble.connect_string}/supervised-refused"
        broker = Broker(tmp_path / "b", connect, properties=properties, is_supervised=True)
        broker.start_without_waiting()
        assert broker.wait(30) == 1
    assert "in use" in broker.log_text()
    assert "cli.supervisor" not in broker.log_text()


def test_crash_without_a_session_ends_the_supervisor_too(tmp_path: Path) -> None:
    nowhere = f"127.0.0.1:{free_port()}"
    soon = {"zookeeper.connection.timeout.ms": "200"}
    broker = Broker(tmp_path / "b", nowhere, properties=soon, is_supervised=True)
    broker.start_without_waiting()
    try:
        broker.wait_for_log(nowhere)
        os.kill(broker.broker_pid, signal.SIGKILL)
        assert broker.wait() == -signal.SIGKILL
    finally:
        broker.terminate()
    assert "cli.supervisor" not in broker.log_text()


def test_supervisor_is_small(supervised: Broker) -> None:
    """Most of what it has is shared by all Pythons of the machine: its own is a few megabytes."""
    rollup = Path(f"/proc/{supervised.pid}/smaps_rollup").read_text()
    own = sum(int(kilobytes) for kilobytes in re.findall(r"Private_\w+: +(\d+) kB", rollup))
    assert 0 < own < 6 * 1024


def test_broker_goes_on_when_its_supervisor_is_killed(supervised: Broker, zookeeper: Any) -> None:
    pid = supervised.broker_pid
    supervised.send_signal(signal.SIGKILL)
    supervised.wait()
    try:
        assert supervised.answers()
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not zookeeper.exists(f"{_chroot(supervised)}/brokers/ids/1"))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
