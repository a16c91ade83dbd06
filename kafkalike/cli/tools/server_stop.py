"""`kafka-server-stop [server.properties]`: end the brokers that kafka-server-start started.

Without an argument all of this user's, as Kafka's script does; those of `kafkalike cluster` are not
among them.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kafkalike.cli.tools.support.script import answer
from kafkalike.cli.tools.support.server_process import Process, own_processes, stop_servers
from kafkalike.cli.tools.support.tool import print_line

_USAGE: Final = "USAGE: kafka-server-stop [server.properties]"


def is_broker(process: Process) -> bool:
    """Whether kafka-server-start runs there (as a script or as a module)."""
    words = process.command[1:4]
    return any(
        word == "kafkalike.cli.tools.server_start" or Path(word).name == "kafka-server-start"
        for word in words
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Send SIGTERM; exit code 1 if there is no broker."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if (code := answer(given, _USAGE)) is not None:
        return code
    if not stop_servers(own_processes(), is_broker, given[0] if given else None):
        print_line("No kafka server to stop")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
