"""What the two explanations share: options, and findings on the screen or as JSON."""

import sys
from collections.abc import Callable, Iterable
from typing import Any, Final, NoReturn, TypeVar

import click

from kafkalike.cli.explain.finding import Finding, Level
from kafkalike.cli.tools.support.listing import styled
from kafkalike.cli.tools.support.tool import finish

F = TypeVar("F", bound=Callable[..., Any])

_STYLES: Final = {Level.NOTE: "yellow", Level.PROBLEM: "red"}


def connection_options(command: F) -> F:
    """Add how to reach the cluster, and `--output`."""
    for option in (
        click.option(
            "--output",
            type=click.Choice(["text", "json"]),
            default="text",
            help="Sentences, or JSON for programs.",
        ),
        click.option(
            "--command-config", help="A properties file with settings of the client (login)."
        ),
        click.option(
            "--bootstrap-server",
            default="localhost:9092",
            show_default=True,
            help="The brokers to begin with: host:port,host:port.",
        ),
    ):
        command = option(command)
    return command


def settings_of(bootstrap_server: str, command_config: str | None) -> dict[str, Any]:
    """Return the settings of the client."""
    from pathlib import Path

    from kafkalike.cli.tools.support.client import read_settings

    settings: dict[str, Any] = {}
    if command_config is not None:
        settings |= read_settings(Path(command_config))
    return settings | {"bootstrap.servers": bootstrap_server}


def run(work: Callable[[], None]) -> NoReturn:
    """Do the work of a command with the manners of the tools, and end."""

    def do() -> int:
        work()
        return 0

    sys.exit(finish(do))


def sentences(findings: Iterable[Finding], indent: str = "  ") -> list[str]:
    """Return a line for each finding, coloured for people if it matters."""
    return [
        indent
        + (styled(found.words, _STYLES[found.level]) if found.level in _STYLES else found.words)
        for found in findings
    ]
