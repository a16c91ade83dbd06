"""`kafkalike wire encode`: JSON to hex."""

import sys

import click

from kafkalike.cli.wire.lines import convert_lines, parse_object
from kafkalike.cli.wire.rows import Row, encode_row
from kafkalike.cli.wire.rows import encode as encode_bytes
from kafkalike.protocol.errors import ProtocolError

_LENGTH_BYTES = 4


@click.command()
@click.argument("json_text", metavar="[JSON]", required=False)
@click.option("--request", is_flag=True, help="A whole frame: a header is added if there is none.")
@click.option("--message", metavar="NAME", help="The message, unless the JSON names it.")
@click.option("--version", type=int, help="Its version, unless the JSON names it.")
@click.option("--length", is_flag=True, help="Put the length (4 bytes) in front.")
@click.option("--jsonl", is_flag=True, help="Fill `hex` into lines of JSON that have `fields`.")
@click.option("--keep-going", is_flag=True, help="With --jsonl: put errors into their lines.")
def encode(
    json_text: str | None,
    request: bool,
    message: str | None,
    version: int | None,
    length: bool,
    jsonl: bool,
    keep_going: bool,
) -> None:
    """Turn JSON, an argument or standard input, into hex.

    \b
    It takes what `decode` prints; with --message and --version the fields alone are enough:
    kafkalike wire encode --message HeartbeatRequest --version 0 '{"groupId": "g"}'
    """
    if jsonl:
        convert_lines(sys.stdin, encode_row, keep_going=keep_going)
        return
    try:
        row = _row(
            parse_object(sys.stdin.read() if json_text is None else json_text), message, version
        )
        if request:
            row.setdefault("header", {})
        data = encode_bytes(row)
    except ProtocolError as error:
        raise click.ClickException(str(error)) from error
    click.echo(((len(data).to_bytes(_LENGTH_BYTES, "big") if length else b"") + data).hex())


def _row(given: Row, message: str | None, version: int | None) -> Row:
    row: Row = given if "fields" in given else {"fields": given}
    if message is not None:
        row["message"] = message
    if version is not None:
        row["version"] = version
    for name in ("message", "version"):
        if name not in row:
            raise ProtocolError(f"neither the JSON nor --{name} tells the {name}")
    return row
