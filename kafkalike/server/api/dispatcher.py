"""From a frame to its handler and back: header, version, body, answer.

A handler that needs not wait is run to its end at once.
"""

from collections.abc import Coroutine, Mapping
from functools import partial
from struct import Struct
from typing import Any, Final

from twisted.internet.defer import CancelledError
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkalike.network.connection import Connection
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode, KafkaError, ProtocolError
from kafkalike.protocol.header import (
    RequestHeader,
    parse_request_header,
    response_header_bytes,
)
from kafkalike.protocol.schema import Message
from kafkalike.server.api.context import CloseConnection, RequestContext
from kafkalike.server.api.registry import Api
from kafkalike.server.forwarding.routes import ROUTES
from kafkalike.server.request_checks import RequestChecks
from kafkalike.server.services import BrokerServices

log = Logger()
_SIZE = Struct(">i")

_SMALL_RANGE_BYTES: Final = 16 * 1024
"""Up to here reading and sending with the rest is cheaper than a `sendfile` of its own."""


class Dispatcher:
    """Takes the frames of all connections."""

    def __init__(
        self, broker: BrokerServices, apis: Mapping[int, Api], checks: RequestChecks | None = None
    ) -> None:
        self._broker = broker
        self._apis = apis
        self._checks = checks

    def handle(self, connection: Connection, buffer: bytes, start: int, end: int) -> None:
        """Answer one frame, now or later; what cannot be answered ends the connection."""
        try:
            header = parse_request_header(buffer, start, end)
            api = self._api(header)
            version = header.api_version
            if version not in api.versions:
                # Only ApiVersions comes here: the client learns what there is (KIP-511).
                request: Message = api.request_class()
            else:
                request = api.request_class.decode(buffer, version, header.body_start, end)
        except ProtocolError as error:
            connection.refuse(str(error))
            return
        context = RequestContext(
            self._broker,
            version,
            header.client_id,
            connection.listener_name,
            connection.peer_host,
            connection,
        )
        route = ROUTES.get(header.api_key)
        if self._checks is not None and self._checks.is_active:
            handling: Any = self._checks.handle(
                api,
                context,
                request,
                end - start,
                partial(_send_and_keep, connection, api, header),
            )
        elif route is None:
            handling = api.handle(context, request)
        else:
            handling = route.handle(api, context, request)
        _go_on(None, connection, api, header, handling)

    def _api(self, header: RequestHeader) -> Api:
        api = self._apis.get(header.api_key)
        if api is None:
            raise ProtocolError(f"the API with key {header.api_key} is not supported")
        if header.api_version not in api.versions and api.key is not ApiKey.API_VERSIONS:
            raise ProtocolError(f"{api.key.api_name} has no version {header.api_version}")
        return api


def _go_on(
    result: Any,
    connection: Connection,
    api: Api,
    header: RequestHeader,
    coroutine: Coroutine[Any, Any, Message | None],
) -> None:
    """Run a handler until it waits again, or to its end; `result` is what it has waited for.

    Coroutines are driven by hand: this costs half of what `Deferred.fromCoroutine` does.
    """
    try:
        if isinstance(result, Failure):
            assert result.value is not None, "a failure has an exception"
            waiting = coroutine.throw(result.value)
        else:
            waiting = coroutine.send(None)
    except StopIteration as done:
        respond(connection, api, header, done.value)
    except CancelledError:
        log.debug("{api} was cancelled", api=api.key.api_name)
    except CloseConnection as reason:
        connection.refuse(str(reason))
    except Exception as error:  # noqa: BLE001 (a bug of ours must not leave a client waiting)
        fail(connection, api, header, error)
    else:
        waiting.addBoth(_go_on, connection, api, header, coroutine)


def respond(
    connection: Connection, api: Api, header: RequestHeader, response: Message | None
) -> None:
    """Send the answer, if there is one."""
    if response is None:
        connection.respond(None)
        return
    # The version of an ApiVersions answer to an unknown version is 0.
    version = header.api_version if header.api_version in api.versions else 0
    try:
        buffers = framed(response, header.api_key, version, header.correlation_id)
    except OSError as error:  # the client must not take half an answer for a whole one
        connection.refuse(f"{api.key.api_name}: reading the log failed: {error}")
        return
    connection.respond(buffers)


def _send_and_keep(
    connection: Connection, api: Api, header: RequestHeader, response: Message
) -> None:
    """Send an answer, but do not take the next request yet: the client has to wait."""
    version = header.api_version if header.api_version in api.versions else 0
    connection.send_and_keep(framed(response, header.api_key, version, header.correlation_id))


def framed(response: Message, api_key: int, version: int, correlation_id: int) -> list[Any]:
    """Return the buffers of an answer; bytes and small file ranges are joined."""
    parts: list[Any] = [b"", response_header_bytes(api_key, version, correlation_id)]
    response.encode_into(version, parts)
    size = sum(map(len, parts))
    parts[0] = _SIZE.pack(size)
    buffers: list[Any] = []
    together: list[bytes | memoryview] = []
    for part in parts:
        if part.__class__ is bytes or isinstance(part, memoryview):
            together.append(part)
        elif len(part) <= _SMALL_RANGE_BYTES:
            together.append(_read(part))
        else:
            buffers.append(b"".join(together))
            buffers.append(part)
            together = []
    if together:
        buffers.append(b"".join(together))
    return buffers


def _read(part: Any) -> bytes:
    data: bytes = part.read()
    if len(data) < len(part):
        raise OSError(f"{part!r} ends after {len(data)} bytes")
    return data


def fail(connection: Connection, api: Api, header: RequestHeader, error: Exception) -> None:
    """Answer with an error where the answer has a place for it, else end the connection."""
    if isinstance(error, KafkaError):
        code = error.code
    else:
        code = ErrorCode.UNKNOWN_SERVER_ERROR
        log.failure("{api} failed", api=api.key.api_name)
    if any(field.name == "error_code" for field in api.response_class.table.fields):
        respond(connection, api, header, api.response_class(error_code=code))
    else:
        connection.refuse(f"{api.key.api_name} failed: {error}")
