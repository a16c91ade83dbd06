"""Objects to bytes and back: for keys and values, each side chooses its own.

A serialiser is a callable `object -> bytes`, an object with `serialize(topic, object)`, or a name
from `SERIALIZERS` ("bytes", "str", "int", "json"); the same for deserialisers. `None` passes
through untouched: as a value it is a tombstone.
"""

import json
import struct
from collections.abc import Callable, Iterable
from typing import Any, Final

_INT64: Final = struct.Struct(">q")
_INT32: Final = struct.Struct(">i")

Serialize = Callable[[str, Any], bytes | None]
Deserialize = Callable[[str, bytes | None], Any]


class SerializationError(ValueError):
    """A key or value that its serialiser cannot turn into bytes, or back."""


def serialize_str(text: str) -> bytes:
    """Return text as UTF-8."""
    return text.encode()


def deserialize_str(data: bytes) -> str:
    """Return UTF-8 as text."""
    return data.decode()


def serialize_int(number: int) -> bytes:
    """Return a number as 8 bytes, as Java's `LongSerializer` does."""
    return _INT64.pack(number)


def deserialize_int(data: bytes) -> int:
    """Return the number of 8 bytes, or of 4 as Java's `IntegerSerializer` writes them."""
    layout = _INT32 if len(data) == _INT32.size else _INT64
    return int(layout.unpack(data)[0])


def serialize_json(value: Any) -> bytes:
    """Return an object as compact JSON in UTF-8."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def deserialize_json(data: bytes) -> Any:
    """Return the object of a JSON text."""
    return json.loads(data)


def keep_bytes(data: Any) -> bytes:
    """Return bytes as they are; anything else is a mistake."""
    if isinstance(data, bytes):
        return data
    if isinstance(data, bytearray | memoryview):
        return bytes(data)
    raise TypeError(
        f"a key or value must be bytes or None, not {type(data).__name__}: "
        "give a key_serializer or value_serializer"
    )


def as_bytes(topic: str, data: Any) -> bytes | None:
    """Check what a serialiser has made: anything but bytes would break the whole batch later."""
    if data is None or type(data) is bytes:
        return data
    try:
        return keep_bytes(data)
    except TypeError as error:
        raise SerializationError(f"topic {topic}: the serialiser made no bytes: {error}") from error


def check_headers(topic: str, headers: Iterable[Any]) -> list[tuple[str, bytes | None]]:
    """Return headers as they can be sent: names are text, values bytes or None."""
    checked: list[tuple[str, bytes | None]] = []
    for header in headers:
        try:
            name, value = header
            is_good = isinstance(name, str) and (value is None or isinstance(value, bytes))
        except (TypeError, ValueError):
            is_good = False
        if not is_good:
            raise SerializationError(
                f"topic {topic}: header {header!r} is no pair of a text and bytes (or None)"
            )
        checked.append((name, value))
    return checked


SERIALIZERS: Final[dict[str, Callable[[Any], bytes]]] = {
    "bytes": keep_bytes,
    "str": serialize_str,
    "int": serialize_int,
    "json": serialize_json,
}
DESERIALIZERS: Final[dict[str, Callable[[bytes], Any]]] = {
    "bytes": keep_bytes,
    "str": deserialize_str,
    "int": deserialize_int,
    "json": deserialize_json,
}


def make_serializer(given: Any) -> Serialize:
    """Return what turns objects into bytes, for a setting."""
    return _make(given, SERIALIZERS, "serialize")


def make_deserializer(given: Any) -> Deserialize | None:
    """Return what turns bytes into objects, for a setting; None if bytes are wanted."""
    return None if given is None else _make(given, DESERIALIZERS, "deserialize")


def _make(
    given: Any, names: dict[str, Callable[[Any], Any]], method: str
) -> Callable[[str, Any], Any]:
    if isinstance(given, type) and hasattr(given, method):
        given = given()
    if hasattr(given, method):
        return getattr(given, method)  # type: ignore[no-any-return]  # a method of the user's
    call = names.get(given or "bytes") if given is None or isinstance(given, str) else given
    if not callable(call):
        raise ValueError(f"{given!r} is no {method}r: give a callable or one of {', '.join(names)}")
    convert: Callable[[Any], Any] = call

    def apply(topic: str, value: Any) -> Any:
        if value is None:
            return None
        try:
            return convert(value)
        except (TypeError, ValueError, AttributeError, struct.error) as error:
            raise SerializationError(
                f"topic {topic}: cannot {method} {value!r}: {error}"
            ) from error

    return apply
