"""`kafkalike wire decode`: hex to JSON."""

import json
import sys

import click

from kafkalike.cli.wire.lines import convert_lines
from kafkalike.cli.wire.names import api_key, message_class
from kafkalike.cli.wire.rows import (
    Row,
    decode_message,
    decode_request,
    decode_response,
    decode_row,
    parse_hex,
)
from kafkalike.cli.wire.walk import FieldError, walk
from kafkalike.protocol.errors import ProtocolError

_LENGTH_BYTES = 4


@click.command()
@click.argument("hex_digits", metavar="[HEX]", required=False)
@click.option("--request", is_flag=True, help="A whole frame from a client, with its header.")
@click.option(
    "--response", is_flag=True, help="A whole frame from a broker; needs --key, --version."
)
@click.option("--key", metavar="API", help="The API that was asked, by name or number.")
@click.option("--message", metavar="NAME", help="One message without header, like ProduceRequest.")
@click.option("--version", type=int, help="The version of the message.")
@click.option("--length", is_flag=True, help="The frame begins with its length (4 bytes).")
@click.option("--records", is_flag=True, help="Open the record batches too (cannot be encoded).")
@click.option("--spans", is_flag=True, help="Show which bytes are which field (with --message).")
@click.option("--jsonl", is_flag=True, help="Fill `fields` into lines of JSON that have `hex`.")
@click.option("--keep-going", is_flag=True, help="With --jsonl: put errors into their lines.")
def decode(
    hex_digits: str | None,
    request: bool,
    response: bool,
    key: str | None,
    message: str | None,
    version: int | None,
    length: bool,
    records: bool,
    spans: bool,
    jsonl: bool,
    keep_going: bool,
) -> None:
    """Turn hex, an argument or standard input, into JSON.

    \b
    kafkalike wire decode --request 0012000300000001…
    kafkalike wire decode --response --key ApiVersions --version 3 00000001…
    kafkalike wire decode --message ProduceRequest --version 7 < body.hex
    kafkalike wire decode --jsonl < vectors.jsonl
    """
    if [request, response, message is not None, jsonl].count(True) != 1:
        raise click.UsageError("say what it is: --request, --response, --message or --jsonl")
    if (message or response) and version is None:
        raise click.UsageError("--version is needed: the bytes do not tell it")
    if response and key is None:
        raise click.UsageError("--key is needed: a response does not tell which API was asked")
    if jsonl:
        convert_lines(
            sys.stdin,
            lambda row: decode_row(row, open_records=records),
            keep_going=keep_going,
        )
        return
    data = b""
    try:
        data = parse_hex(sys.stdin.read() if hex_digits is None else hex_digits)
        data = _without_length(data) if length else data
        if spans and message:
            _print_spans(message, data, version or 0)
            return
        row = _decode(data, key if response else None, message, version or 0, records)
    except ProtocolError as error:
        raise click.ClickException(f"{error}{_hint(data, length)}") from error
    click.echo(json.dumps(row, indent=2, ensure_ascii=False))


def _decode(
    data: bytes, asked: str | None, message: str | None, version: int, open_records: bool
) -> Row:
    if message is not None:
        return decode_message(message_class(message), data, version, open_records=open_records)
    if asked is not None:
        return decode_response(data, api_key(asked), version, open_records=open_records)
    return decode_request(data, open_records=open_records)


def _without_length(data: bytes) -> bytes:
    size = int.from_bytes(data[:_LENGTH_BYTES], "big", signed=True)
    if len(data) - _LENGTH_BYTES != size:
        raise ProtocolError(
            f"the frame says {size} bytes, {max(0, len(data) - _LENGTH_BYTES)} follow its length"
        )
    return data[_LENGTH_BYTES:]


def _hint(data: bytes, length: bool) -> str:
    begins_with_length = int.from_bytes(data[:_LENGTH_BYTES], "big") == len(data) - _LENGTH_BYTES
    return "; does it begin with its length? Then add --length" * (
        begins_with_length and not length
    )


def _print_spans(message: str, data: bytes, version: int) -> None:
    """Print the fields that can be read even if the message cannot be read to its end."""
    cls = message_class(message)
    cls._check_version(version)
    try:
        for span in walk(cls, data, version):
            shown = data[span.start : span.end].hex(" ")
            value = span.value.hex() if isinstance(span.value, bytes) else repr(span.value)
            click.echo(f"{span.start:6} {shown:<24} {span.path} = {value}")
    except FieldError as error:
        raise ProtocolError(f"{message} v{version}: {error}") from None
