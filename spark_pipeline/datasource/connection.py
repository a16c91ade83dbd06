"""A blocking connection to one broker that knows which versions it has.

Executors read through this and not through the client library: a task reads one partition from
front to back, and needs neither a reactor nor the time to import one.
"""

import struct
from typing import Any, Final

from kafkalike.client.consumer.consumer_config import ConsumerConfig
from kafkalike.client.simple_client import SimpleClient
from kafkalike.model.broker import Node
from kafkalike.protocol.api_keys import ApiKey, response_class
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.errors import (
    NetworkError,
    ProtocolError,
    UnsupportedVersionError,
    error_for,
)
from kafkalike.protocol.header import parse_response_header
from kafkalike.protocol.messages.api_versions import ApiVersionsRequest
from kafkalike.protocol.schema import Message

_SIZE: Final = struct.Struct(">i")


class BrokerConnection(SimpleClient):
    """Every failure of the network is a `NetworkError` that names the broker.

    The buffer that holds an answer is used again for the next one: what is decoded from it must be
    copied or used up before the next answer is read.
    """

    def __init__(self, node: Node, config: ConsumerConfig) -> None:
        self.node = node
        self._buffer = bytearray()
        timeout_s = config.request_timeout_ms / 1000
        try:
            super().__init__(node.host, node.port, client_id=config.client_id, timeout_s=timeout_s)
            self._secure(config)
        except (OSError, EOFError) as error:
            raise self._lost(error) from error
        self._versions = self._ask_versions()

    def version_of(self, request: Message) -> int:
        """Return the highest version of a request that both sides have."""
        low, high = self._versions.get(request.api_key, (0, -1))
        version = min(high, request.max_version)
        if version < max(low, request.min_version):
            raise UnsupportedVersionError(
                f"broker {self.node.host}:{self.node.port} does not have "
                f"{ApiKey(request.api_key).api_name} {request.min_version} to "
                f"{request.max_version}"
            )
        return version

    def send(self, request: Message, version: int | None = None) -> Any:
        """Send a request in the best version and return the answer."""
        return super().send(request, self.version_of(request) if version is None else version)

    def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are."""
        try:
            super().send_bytes(data)
        except OSError as error:
            raise self._lost(error) from error

    def receive(self, key: ApiKey, version: int, correlation_id: int) -> Any:
        """Read the answer to the oldest request that has none yet, into the buffer."""
        try:
            size = self._fill_buffer()
        except (OSError, EOFError) as error:
            raise self._lost(error) from error
        buffer: Any = self._buffer  # Any: it is indexed and sliced as bytes are
        header = parse_response_header(buffer, key, version, 0, size)
        if header.correlation_id != correlation_id:
            raise ProtocolError(f"answer to {header.correlation_id} came for {correlation_id}")
        return response_class(key).decode(buffer, version, header.body_start, size)

    def _secure(self, config: ConsumerConfig) -> None:
        if config.security_protocol.upper() == "PLAINTEXT":
            return
        # Imported where it is needed only: it takes longer than reading a small topic.
        from spark_pipeline.datasource.secure import security_of

        security = security_of(config)
        self._socket = security.wrap(self._socket, self.node.host)
        security.authenticate(super().send)

    def _fill_buffer(self) -> int:
        (size,) = _SIZE.unpack(self._receive_exactly(_SIZE.size))
        if len(self._buffer) < size:
            self._buffer = bytearray(size)
        view = memoryview(self._buffer)
        position = 0
        while position < size:
            count = self._socket.recv_into(view[position:size])
            if not count:
                raise EOFError("the broker closed the connection")
            position += count
        return int(size)

    def _ask_versions(self) -> dict[int, tuple[int, int]]:
        answer = super().send(ApiVersionsRequest(), 0)
        if answer.error_code != ErrorCode.NONE:
            raise error_for(answer.error_code)(f"{self.node.host}:{self.node.port}: ApiVersions")
        return {key.api_key: (key.min_version, key.max_version) for key in answer.api_keys}

    def _lost(self, error: Exception) -> NetworkError:
        return NetworkError(f"broker {self.node.host}:{self.node.port}: {error}")
