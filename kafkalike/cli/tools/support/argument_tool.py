"""A tool whose options are read as argparse4j does it: those of Kafka that come from `tools/`.

Without arguments they show their help and end with 0; what cannot be read is answered with the
usage and one line, exit code 1.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from kafkalike.cli.tools.support.errors import ToolFailure
from kafkalike.cli.tools.support.tool import KAFKA_VERSION, command_line, finish


class ArgumentParser(argparse.ArgumentParser):
    """An argument parser that ends with Kafka's exit code."""

    @property
    def declared(self) -> list[argparse.Action]:
        """All options."""
        return self._actions

    def error(self, message: str) -> NoReturn:
        """Show the usage and what is wrong with the command line."""
        self.print_usage(sys.stderr)
        raise ToolFailure(f"{self.prog}: error: {message}")

    def refuse_unknown(self, arguments: Sequence[str]) -> None:
        """Refuse options that there are not."""
        for word in arguments:
            name = word.partition("=")[0]
            if word.startswith("--") and word != "--" and name not in self._option_string_actions:
                self.error(f"unrecognized arguments: '{name}'")


@dataclass(frozen=True, slots=True)
class ArgumentTool:
    """A command: `prog` is what Kafka calls it in its usage, `declare` adds its options."""

    name: str
    prog: str
    purpose: str
    declare: Callable[[ArgumentParser], None]
    run: Callable[[argparse.Namespace], int | None]

    def __call__(self, arguments: Sequence[str] | None = None) -> int:
        """Run it, to its end, and return the exit code."""
        given = command_line() if arguments is None else list(arguments)
        return finish(lambda: self._run(given))

    def parser(self) -> ArgumentParser:
        """Return what reads its command line."""
        parser = ArgumentParser(prog=self.prog, description=self.purpose, allow_abbrev=False)
        parser.add_argument(
            "--version",
            action="version",
            version=f"{KAFKA_VERSION} (kafkalike)",
            help="the version",
        )
        self.declare(parser)
        return parser

    def _run(self, arguments: list[str]) -> int:
        parser = self.parser()
        if not arguments:
            parser.print_help()
            return 0
        # Before what is missing, which would be all that argparse tells of.
        parser.refuse_unknown(arguments)
        try:
            parsed = parser.parse_args(arguments)
        except SystemExit as end:  # after --help and --version
            return int(end.code or 0)
        return self.run(parsed) or 0


def add_connection(parser: ArgumentParser) -> None:
    """Add `--bootstrap-server`, and `--broker-list` for the same; one of them is needed."""
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument(
        "--bootstrap-server",
        dest="bootstrap_servers",
        metavar="HOST1:PORT1[,HOST2:PORT2[...]]",
        help="the brokers to begin with",
    )
    group.add_argument(
        "--broker-list",
        dest="bootstrap_servers",
        metavar="HOST1:PORT1[,HOST2:PORT2[...]]",
        help="DEPRECATED, use --bootstrap-server",
    )


def add_limit(parser: ArgumentParser) -> None:
    """Add `--max-messages`."""
    parser.add_argument(
        "--max-messages",
        metavar="MAX-MESSAGES",
        type=int,
        default=-1,
        help="how many; -1: until somebody ends it (default: %(default)s)",
    )
