import signal
from pathlib import Path

from kafkalike.cli.tools.server_stop import is_broker
from kafkalike.cli.tools.support.server_process import Process, own_processes, stop_servers
from kafkalike.cli.tools.zookeeper_server_start import MARK
from kafkalike.cli.tools.zookeeper_server_stop import is_zookeeper

BROKER = Process(10, ("python", "/venv/bin/kafka-server-start", "/etc/server-1.properties"))
DAEMON = Process(11, ("python", "-m", "kafkalike.cli.tools.server_start", "server-2.properties"))
OTHER = Process(12, ("python", "-m", "kafkalike.cli.main", "broker", "server-3.properties"))
ZOOKEEPER = Process(13, ("java", MARK, "org.apache.zookeeper.server.Main", "/zoo.cfg"))


class Signals:
    def __init__(self, *gone: int) -> None:
        self.sent: list[tuple[int, int]] = []
        self._gone = gone

    def kill(self, pid: int, number: int) -> None:
        if pid in self._gone:
            raise ProcessLookupError
        self.sent.append((pid, number))


def test_only_what_was_started_by_the_tool_is_stopped() -> None:
    signals = Signals()
    everybody = [BROKER, DAEMON, OTHER, ZOOKEEPER]
    assert stop_servers(everybody, is_broker, None, signals.kill) == [10, 11]
    assert stop_servers(everybody, is_zookeeper, None, signals.kill) == [13]
    assert {number for _, number in signals.sent} == {signal.SIGTERM}


def test_configuration_names_the_one_to_stop() -> None:
    signals = Signals()
    everybody = [BROKER, DAEMON]
    found = stop_servers(everybody, is_broker, "/etc/server-1.properties", signals.kill)
    assert found == [10]
    assert stop_servers(everybody, is_broker, "other.properties", signals.kill) == []


def test_server_that_ended_meanwhile_is_passed_over() -> None:
    assert stop_servers([BROKER, DAEMON], is_broker, None, Signals(10).kill) == [11]


def test_processes_are_read_from_proc(tmp_path: Path) -> None:
    for name, words in (("42", b"java\0-jar\0x\0"), ("notes", b""), ("43", b"ended\0")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cmdline").write_bytes(words)
    (tmp_path / "43" / "cmdline").unlink()
    assert list(own_processes(tmp_path)) == [Process(42, ("java", "-jar", "x"))]
