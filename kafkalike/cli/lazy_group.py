"""A click group that imports a command only when it is run: a broker must start fast."""

import importlib
from collections.abc import Mapping
from typing import NamedTuple

import click


class LazyCommand(NamedTuple):
    """Where a command lives; its line in the help is here so that help imports nothing."""

    module: str
    attribute: str
    summary: str


class LazyGroup(click.Group):
    """A group whose commands are named, not imported."""

    def __init__(
        self, name: str | None = None, *, commands_by_name: Mapping[str, LazyCommand], help: str
    ) -> None:
        super().__init__(name, help=help, context_settings={"help_option_names": ["-h", "--help"]})
        self._commands_by_name = commands_by_name

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of the table."""
        return list(self._commands_by_name)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        entry = self._commands_by_name.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = getattr(importlib.import_module(entry.module), entry.attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands into the help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, c.summary) for name, c in self._commands_by_name.items()])
