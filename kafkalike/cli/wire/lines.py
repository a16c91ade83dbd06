"""Streams of JSON lines in, streams of JSON lines out; an error names the line."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import click

from kafkalike.protocol.errors import ProtocolError


def convert_lines(
    lines: Iterable[str],
    convert: Callable[[dict[str, Any]], dict[str, Any]],
    *,
    keep_going: bool = False,
) -> None:
    """Print each row as `convert` completes it.

    At one that it cannot the exit code is 1: at once, or at the end if we are to keep going; then
    the row says in `error` what is wrong with it.
    """
    failures = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        row: dict[str, Any] = {}
        try:
            row = parse_object(line)
            row = convert(row)
        except ProtocolError as error:
            if not keep_going:
                raise click.ClickException(f"line {number}: {error}") from error
            failures += 1
            row["error"] = str(error)
        click.echo(json.dumps(row, ensure_ascii=False))
    if failures:
        raise click.ClickException(f"{failures} lines could not be converted")


def parse_object(text: str) -> dict[str, Any]:
    """Read one JSON object."""
    try:
        row = json.loads(text)
    except ValueError as error:
        raise ProtocolError(f"this is not JSON: {error}") from None
    if not isinstance(row, dict):
        raise ProtocolError("a JSON object is needed")
    return row
