"""A message or a whole frame as one JSON object, both ways.

A row has `message`, `version`, `fields` and `hex`, as in a file of test vectors; a frame has its
`header` too, and a captured one is told by `api_key`, `version` and `direction`. Decoding fills in
what `hex` says, encoding makes `hex` from the rest.
"""

from typing import Any

from kafkalike.cli.wire.message_json import from_json, to_json
from kafkalike.cli.wire.names import api_key, message_class
from kafkalike.cli.wire.records_json import records_to_json
from kafkalike.cli.wire.walk import explain_failure
from kafkalike.protocol.api_keys import ApiKey, request_class, response_class
from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.header import (
    parse_request_header,
    request_header_version,
    response_header_version,
)
from kafkalike.protocol.messages.headers import RequestHeader, ResponseHeader
from kafkalike.protocol.schema import Message

Row = dict[str, Any]


def decode_row(row: Row, *, open_records: bool = False) -> Row:
    """Return the row with what its `hex` says; a captured frame gets its header as well."""
    data = parse_hex(_needed(row, "hex"))
    if "message" in row and "header" not in row:
        version = _needed(row, "version")
        cls = message_class(row["message"])
        return row | decode_message(cls, data, version, open_records=open_records)
    if _is_request(row):
        return row | decode_request(data, open_records=open_records)
    key, version = _response_kind(row)
    return row | decode_response(data, key, version, open_records=open_records)


def encode_row(row: Row) -> Row:
    """Return the row with the `hex` of its fields, and of its header if it has one."""
    return row | {"hex": encode(row).hex()}


def decode_message(
    cls: type[Message], data: bytes, version: int, *, open_records: bool = False
) -> Row:
    """Read one message that fills the bytes."""
    try:
        message, end = cls.decode_prefix(data, version)
    except ProtocolError as error:
        raise ProtocolError(explain_failure(cls, data, version, error)) from error
    shown: Row = {
        "message": cls.__name__,
        "version": version,
        "fields": to_json(message, version, records_to_json if open_records else None),
    }
    if end < len(data):
        if not cls.__name__.endswith("Request"):
            raise ProtocolError(
                f"{cls.__name__} v{version} ends at byte {end}, {len(data) - end} bytes follow"
            )
        shown["trailing"] = data[end:].hex()  # a broker does not look at these
    return shown


def decode_request(data: bytes, *, open_records: bool = False) -> Row:
    """Read a frame that a client sent, without its length."""
    parsed = parse_request_header(data)
    version = request_header_version(parsed.api_key, parsed.api_version)
    header, end = RequestHeader.decode_prefix(data, version)
    cls = request_class(parsed.api_key)
    body = decode_message(cls, data[end:], parsed.api_version, open_records=open_records)
    return {"header": to_json(header, version)} | body


def decode_response(data: bytes, key: ApiKey, version: int, *, open_records: bool = False) -> Row:
    """Read a frame that a broker sent in answer to a request of this API and version."""
    header_version = response_header_version(key, version)
    header, end = ResponseHeader.decode_prefix(data, header_version)
    cls = response_class(key)
    body = decode_message(cls, data[end:], version, open_records=open_records)
    return {"header": to_json(header, header_version)} | body


def encode(row: Row) -> bytes:
    """Return the bytes of a row's message, after those of its header if it has one."""
    cls, version = message_class(_needed(row, "message")), _needed(row, "version")
    message = from_json(cls, _needed(row, "fields"), version)
    body = message.encode(version) + bytes.fromhex(row.get("trailing", ""))
    header = row.get("header")
    return body if header is None else _encode_header(cls, version, header) + body


def _encode_header(cls: type[Message], version: int, header: Row) -> bytes:
    if cls.api_key < 0:
        raise ProtocolError(f"header: {cls.__name__} belongs to no API and has none")
    if cls.__name__.endswith("Response"):
        header_version = response_header_version(cls.api_key, version)
        return from_json(ResponseHeader, header, header_version).encode(header_version)
    header_version = request_header_version(cls.api_key, version)
    kind = {"requestApiKey": cls.api_key, "requestApiVersion": version}
    return from_json(RequestHeader, kind | header, header_version).encode(header_version)


def parse_hex(text: str) -> bytes:
    """Read hex digits; spaces, line ends, colons and a leading 0x do not matter."""
    digits = "".join(text.split()).replace(":", "").removeprefix("0x")
    try:
        return bytes.fromhex(digits)
    except ValueError as error:
        raise ProtocolError(f"this is not hex: {error}") from None


def _needed(row: Row, name: str) -> Any:
    if name not in row:
        raise ProtocolError(f"a {name!r} is needed here, there are only {', '.join(row) or 'none'}")
    return row[name]


def _is_request(row: Row) -> bool:
    if "message" in row:
        return bool(row["message"].endswith("Request"))
    return bool(_needed(row, "direction") == "request")


def _response_kind(row: Row) -> tuple[ApiKey, int]:
    if "message" in row:
        return ApiKey(message_class(row["message"]).api_key), _needed(row, "version")
    return api_key(str(_needed(row, "api_key"))), _needed(row, "version")
