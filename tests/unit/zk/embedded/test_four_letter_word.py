import pytest

from kafkalike.zk.embedded.four_letter_word import ServerMode, parse_mode

SRVR = """\
Zookeeper version: 3.9.5-2d7e4f, built on 2025-08-01 08:00 UTC
Latency min/avg/max: 0/0.0/0
Received: 1
Sent: 0
Connections: 1
Outstanding: 0
Zxid: 0x100000000
Mode: {mode}
Node count: 5
"""


@pytest.mark.parametrize("mode", list(ServerMode))
def test_mode_is_read_from_srvr(mode: ServerMode) -> None:
    """M73: a server tells whether it leads or follows."""
    assert parse_mode(SRVR.format(mode=mode)) is mode


def test_server_without_quorum_has_no_mode() -> None:
    assert parse_mode("This ZooKeeper instance is not currently serving requests\n") is None
    assert parse_mode("") is None
