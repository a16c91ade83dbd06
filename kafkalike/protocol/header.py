"""What stands before the body of every request and response, and which version of it.

The header's version follows from the message's: flexible messages have flexible headers, with two
exceptions. ApiVersions always answers with response header 0, for the client that asks does not yet
know what the broker can do (KIP-511); ControlledShutdown v0 has no client id.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.messages import headers
from kafkalike.protocol.primitives import read_tagged_fields

_NEVER: Final = 32768
_FLEXIBLE_FROM: Final = {
    int(key): _NEVER if key.flexible_from is None else key.flexible_from for key in ApiKey
}
_CONTROLLED_SHUTDOWN: Final = int(ApiKey.CONTROLLED_SHUTDOWN)
_API_VERSIONS: Final = int(ApiKey.API_VERSIONS)

_WITH_CLIENT_ID_LENGTH: Final = struct.Struct(">hhih")
_CORRELATION_ID: Final = struct.Struct(">i")
_CORRELATION_ID_AND_NO_TAGS: Final = struct.Struct(">ix")


class RequestHeader(NamedTuple):
    """The header of a request; its body is what follows from `body_start` on."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_start: int


class ResponseHeader(NamedTuple):
    """The header of a response; its body is what follows from `body_start` on."""

    correlation_id: int
    body_start: int


def request_header_version(api_key: int, api_version: int) -> int:
    """Return the version of the header in front of a request."""
    if api_version >= _FLEXIBLE_FROM[api_key]:
        return 2
    return 0 if api_key == _CONTROLLED_SHUTDOWN and api_version == 0 else 1


def response_header_version(api_key: int, api_version: int) -> int:
    """Return the version of the header in front of a response."""
    return 1 if api_version >= _FLEXIBLE_FROM[api_key] and api_key != _API_VERSIONS else 0


def parse_request_header(buffer: bytes, start: int = 0, end: int | None = None) -> RequestHeader:
    """Read the header of the request that fills `buffer` from `start` to `end`.

    The version may be one that this broker does not have: what then happens is the caller's to
    decide. Without knowing the API there is no telling where the header ends: a `ProtocolError`.
    """
    if end is None:
        end = len(buffer)
    try:
        api_key, api_version, correlation_id, size = _WITH_CLIENT_ID_LENGTH.unpack_from(
            buffer, start
        )
        flexible_from = _FLEXIBLE_FROM[api_key]
        position = start + 10
        client_id = None
        if api_key == _CONTROLLED_SHUTDOWN and api_version == 0:
            position = start + 8
        elif size >= 0:
            client_id_start, position = position, position + size
            client_id = buffer[client_id_start:position].decode()
        if api_version >= flexible_from:
            if buffer[position]:
                _, position = read_tagged_fields(buffer, position, end)
            else:
                position += 1
    except KeyError:
        raise ProtocolError(f"there is no API with key {api_key}") from None
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ProtocolError(f"request header: {error}") from error
    if position > end:
        raise ProtocolError("the request header is cut off")
    return RequestHeader(api_key, api_version, correlation_id, client_id, position)


def encode_request_header(
    api_key: int, api_version: int, correlation_id: int, client_id: str | None
) -> bytes:
    """Return the header that goes in front of a request."""
    header = headers.RequestHeader(
        request_api_key=api_key,
        request_api_version=api_version,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    return header.encode(request_header_version(api_key, api_version))


def parse_response_header(
    buffer: bytes, api_key: int, api_version: int, start: int = 0, end: int | None = None
) -> ResponseHeader:
    """Read the header of the response to a request with this key and version."""
    version = response_header_version(api_key, api_version)
    header, position = headers.ResponseHeader.decode_prefix(buffer, version, start, end)
    return ResponseHeader(header.correlation_id, position)


def response_header_bytes(api_key: int, api_version: int, correlation_id: int) -> bytes:
    """Return the header that goes in front of a response."""
    if response_header_version(api_key, api_version):
        return _CORRELATION_ID_AND_NO_TAGS.pack(correlation_id)
    return _CORRELATION_ID.pack(correlation_id)
