"""`zookeeper-shell host:port[/path] [command …]`: look at znodes, and change them.

With a command it is run and done; without, commands are read from standard input.
"""

import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from kafkalike.cli.tools.support.script import answer
from kafkalike.cli.tools.support.tool import print_error, print_line

_USAGE: Final = (
    "USAGE: zookeeper-shell zookeeper_host:port[/path] [-zk-tls-config-file file] [args...]"
)
_TLS: Final = ("-zk-tls-config-file", "--zk-tls-config-file")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run commands; exit code 1 if one of them failed."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if (code := answer(given, _USAGE)) is not None:
        return code
    if not given:
        print_error(_USAGE)
        return 1
    connect, *rest = given
    tls_config_file = None
    if len(rest) > 1 and rest[0] in _TLS:
        _, tls_config_file, *rest = rest
    from kafkalike.cli.tools.support.errors import JavaError, ToolFailure
    from kafkalike.cli.tools.znode_commands import run_commands

    print_line(f"Connecting to {connect}")
    sys.stdout.flush()
    try:
        return run_commands(connect, iter([rest]) if rest else _typed(), tls_config_file)
    except (ToolFailure, JavaError) as error:
        print_error(str(error))
        return 1


def _typed() -> Iterator[list[str]]:
    """Yield the commands that are typed, or come through a pipe."""
    if sys.stdin.isatty():
        print_line("Welcome to ZooKeeper! `help` lists the commands, `quit` ends.")
    while True:
        if sys.stdin.isatty():
            sys.stdout.write("> ")
            sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            return
        words = shlex.split(line)
        if words[:1] == ["quit"]:
            return
        if words:
            yield words


if __name__ == "__main__":
    sys.exit(main())
