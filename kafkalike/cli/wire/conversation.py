"""What is said on one connection: requests and the answers that belong to them. No sockets.

Answers come in the order of the requests, so a queue of what was asked is enough to tell which API
and version an answer has. A produce with acks=0 is never answered. What cannot be read (a token of
an old SASL handshake, say) is passed over with its size.
"""

from collections import deque
from typing import Any, Final, NamedTuple

from kafkalike.cli.wire.message_json import to_json
from kafkalike.protocol.api_keys import ApiKey, request_class, response_class
from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.header import parse_request_header, parse_response_header
from kafkalike.protocol.schema import Message

MAX_UNANSWERED: Final = 10_000
"""More requests than that are never in flight; the oldest then had no answer."""


class Said(NamedTuple):
    """One frame; `message` is None if it could not be read, and `error` then says why."""

    is_request: bool
    at_ms: int
    size: int
    api_key: ApiKey | None = None
    version: int = 0
    correlation_id: int = 0
    client_id: str | None = None
    took_ms: int | None = None
    message: Message | None = None
    error: str = ""

    def fields(self, show_records: Any = None) -> dict[str, Any]:
        """Return the message as JSON."""
        return {} if self.message is None else to_json(self.message, self.version, show_records)


class Conversation:
    """The frames of one connection, in the order in which they pass."""

    def __init__(self) -> None:
        self._unanswered: deque[Said] = deque(maxlen=MAX_UNANSWERED)

    def request(self, frame: bytes, now_ms: int) -> Said:
        """Take a frame from the client."""
        said = _read_request(frame, now_ms)
        if not _is_unanswered_produce(said):
            self._unanswered.append(said)
        return said

    def response(self, frame: bytes, now_ms: int) -> Said:
        """Take a frame from the broker."""
        if not self._unanswered:
            return Said(False, now_ms, len(frame), error="an answer to nothing")
        return _read_response(frame, self._unanswered.popleft(), now_ms)


def _read_request(frame: bytes, now_ms: int) -> Said:
    said = Said(True, now_ms, len(frame))
    try:
        header = parse_request_header(frame)
        said = said._replace(
            api_key=ApiKey(header.api_key),
            version=header.api_version,
            correlation_id=header.correlation_id,
            client_id=header.client_id,
        )
        cls = request_class(header.api_key)
        message = cls.decode(frame, header.api_version, header.body_start)
    except ProtocolError as error:
        return said._replace(error=str(error))
    return said._replace(message=message)


def _read_response(frame: bytes, asked: Said, now_ms: int) -> Said:
    said = Said(
        False,
        now_ms,
        len(frame),
        api_key=asked.api_key,
        version=asked.version,
        client_id=asked.client_id,
        took_ms=now_ms - asked.at_ms,
    )
    if asked.api_key is None:
        return said._replace(error="the request could not be read")
    try:
        header = parse_response_header(frame, asked.api_key, asked.version)
        said = said._replace(correlation_id=header.correlation_id)
        if header.correlation_id != asked.correlation_id:
            raise ProtocolError(f"an answer to {asked.correlation_id} was due")
        cls = response_class(asked.api_key)
        message = cls.decode(frame, asked.version, header.body_start)
    except ProtocolError as error:
        return said._replace(error=str(error))
    return said._replace(message=message)


def _is_unanswered_produce(said: Said) -> bool:
    return said.api_key is ApiKey.PRODUCE and getattr(said.message, "acks", None) == 0
