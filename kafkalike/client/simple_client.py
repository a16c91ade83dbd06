"""One blocking connection that sends any request in any version and reads its answer.

The plainest client there is: no metadata, no retries, no threads. Tests use it to say exactly what
goes over the wire, the quickstart to move its messages.
"""

import itertools
import socket
import struct
from types import TracebackType
from typing import Any, Self

from kafkalike.protocol.api_keys import ApiKey, response_class
from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.header import encode_request_header, parse_response_header
from kafkalike.protocol.schema import Message

_SIZE = struct.Struct(">i")


class SimpleClient:
    """A connection to one broker; a context manager that closes it.

    Requests are answered in order, so a caller may also `send_only` several and then `receive`
    the answers. A broker that closes the connection is an `EOFError`.
    """

    def __init__(
        self, host: str, port: int, *, client_id: str | None = "simple", timeout_s: float = 30.0
    ) -> None:
        self._socket: socket.socket = socket.create_connection((host, port), timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._client_id = client_id
        self._correlation_ids = itertools.count(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def fileno(self) -> int:
        """Return the socket's descriptor, for `select`."""
        return self._socket.fileno()

    # Any: the class of the answer follows from the request's, which mypy cannot see.
    def send(self, request: Message, version: int | None = None) -> Any:
        """Send a request, in its latest version unless told, and return the answer."""
        version = request.max_version if version is None else version
        correlation_id = self.send_only(request, version)
        return self.receive(ApiKey(request.api_key), version, correlation_id)

    def send_only(self, request: Message, version: int | None = None) -> int:
        """Send a request without waiting for an answer; returns its correlation id."""
        version = request.max_version if version is None else version
        correlation_id = next(self._correlation_ids)
        header = encode_request_header(request.api_key, version, correlation_id, self._client_id)
        self.send_frame(header + request.encode(version))
        return correlation_id

    def receive(self, key: ApiKey, version: int, correlation_id: int) -> Any:
        """Read the answer to the oldest request that has none yet."""
        frame = self.receive_frame()
        header = parse_response_header(frame, key, version)
        if header.correlation_id != correlation_id:
            raise ProtocolError(f"answer to {header.correlation_id} came for {correlation_id}")
        return response_class(key).decode(frame, version, header.body_start)

    def send_frame(self, frame: bytes) -> None:
        """Send bytes with their length before them."""
        self.send_bytes(_SIZE.pack(len(frame)) + frame)

    def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._socket.sendall(data)

    def receive_frame(self) -> bytes:
        """Read one frame, without its length."""
        (size,) = _SIZE.unpack(self._receive_exactly(_SIZE.size))
        return self._receive_exactly(size)

    def _receive_exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            chunk = self._socket.recv(min(size - len(data), 1 << 20))
            if not chunk:
                raise EOFError("the broker closed the connection")
            data += chunk
        return bytes(data)
