"""Messages by the names that Kafka's protocol guide gives them, and APIs by name or number."""

import difflib
from functools import cache
from importlib import import_module
from typing import Final

from kafkalike.protocol.api_keys import ApiKey, request_class, response_class
from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.schema import Message

# The messages that belong to no API.
_DATA: Final = {
    "RequestHeader": "headers",
    "ResponseHeader": "headers",
    "ConsumerProtocolSubscription": "consumer_protocol",
    "ConsumerProtocolAssignment": "consumer_protocol",
    "OffsetCommitKey": "coordinator_records",
    "OffsetCommitValue": "coordinator_records",
    "GroupMetadataKey": "coordinator_records",
    "GroupMetadataValue": "coordinator_records",
    "TransactionLogKey": "coordinator_records",
    "TransactionLogValue": "coordinator_records",
}


@cache
def message_names() -> tuple[str, ...]:
    """Return the names of all messages: two for each API, and those that belong to none."""
    of_apis = [f"{key.api_name}{kind}" for key in ApiKey for kind in ("Request", "Response")]
    return (*of_apis, *_DATA)


def message_class(name: str) -> type[Message]:
    """Return the class of a message, imported now; a name that is not known says what is near."""
    if name in _DATA:
        module = import_module(f"kafkalike.protocol.messages.{_DATA[name]}")
        found: type[Message] = getattr(module, name)
        return found
    for kind, class_of in (("Request", request_class), ("Response", response_class)):
        key = _keys_by_name().get(name.removesuffix(kind))
        if name.endswith(kind) and key is not None:
            return class_of(key)
    raise ProtocolError(f"there is no message {name!r}{_hint(name, message_names())}")


def api_key(text: str) -> ApiKey:
    """Return the API with this number or name (`18`, `ApiVersions`)."""
    if text.lstrip("-").isdigit():
        try:
            return ApiKey(int(text))
        except ValueError:
            raise ProtocolError(f"there is no API with key {text}") from None
    key = _keys_by_name().get(text)
    if key is None:
        raise ProtocolError(f"there is no API {text!r}{_hint(text, _keys_by_name())}")
    return key


@cache
def _keys_by_name() -> dict[str, ApiKey]:
    return {key.api_name: key for key in ApiKey}


def _hint(name: str, known: tuple[str, ...] | dict[str, ApiKey]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else "; `kafkalike wire messages` lists them"
