"""`zookeeper-server-stop [zookeeper.properties]`: end what zookeeper-server-start started.

Without an argument all of this user's servers, as Kafka's script does.
"""

import sys
from collections.abc import Sequence
from typing import Final

from kafkalike.cli.tools.support.script import answer
from kafkalike.cli.tools.support.server_process import Process, own_processes, stop_servers
from kafkalike.cli.tools.support.tool import print_line
from kafkalike.cli.tools.zookeeper_server_start import MARK

_USAGE: Final = "USAGE: zookeeper-server-stop [zookeeper.properties]"


def is_zookeeper(process: Process) -> bool:
    """Whether zookeeper-server-start started it."""
    return MARK in process.command


def main(arguments: Sequence[str] | None = None) -> int:
    """Send SIGTERM; exit code 1 if there is no server."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if (code := answer(given, _USAGE)) is not None:
        return code
    if not stop_servers(own_processes(), is_zookeeper, given[0] if given else None):
        print_line("No zookeeper server to stop")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
