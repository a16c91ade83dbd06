"""`kafka-server-start [-daemon] server.properties [--override property=value]*`: a broker."""

import sys
from collections.abc import Sequence
from typing import Final

from kafkalike.cli.tools.support.script import answer
from kafkalike.cli.tools.support.server_process import start_in_background
from kafkalike.cli.tools.support.tool import print_error

_USAGE: Final = "USAGE: kafka-server-start [-daemon] server.properties [--override property=value]*"
_DAEMON: Final = ("-daemon", "--daemon")
_MODULE: Final = "kafkalike.cli.tools.server_start"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a broker, in the foreground or (`-daemon`) not; its log is then logs/kafkaServer.out."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if (code := answer(given, _USAGE, _DAEMON)) is not None:
        return code
    is_daemon = given[:1] in ([option] for option in _DAEMON)
    rest = given[1:] if is_daemon else given
    if not rest:
        print_error(_USAGE)
        return 1
    if not is_daemon:
        from kafkalike.cli.broker import broker

        # It never returns: click ends the process with the broker's exit code.
        broker.main(args=rest, prog_name="kafka-server-start")
    start_in_background([sys.executable, "-m", _MODULE, *rest], "kafkaServer.out")
    return 0


if __name__ == "__main__":
    sys.exit(main())
