"""From bytes to text, by the names of Kafka's own decoders and deserialisers.

A name that is not Kafka's may be a Python callable, `module:function`, from bytes to anything.
"""

import struct
import uuid
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from kafkalike.cli.tools.support.errors import JavaError

Decoder = Callable[[bytes], str]


def _string(data: bytes) -> str:
    return data.decode(errors="replace")


def _bytes(data: bytes) -> str:
    return f"[B@{hash(data) & 0xFFFFFFFF:x}"  # what Java makes of an array


def _number(layout: str) -> Decoder:
    unpack = struct.Struct(layout).unpack

    def decode(data: bytes) -> str:
        try:
            return str(unpack(data)[0])
        except struct.error as error:
            raise JavaError(
                "org.apache.kafka.common.errors.SerializationException",
                f"{len(data)} bytes are no such number: {error}",
            ) from None

    return decode


_DECODERS: Final[dict[str, Decoder]] = {
    "StringDecoder": _string,
    "DefaultDecoder": _bytes,
    "IntegerDecoder": _number(">i"),
    "LongDecoder": _number(">q"),
    "StringDeserializer": _string,
    "ByteArrayDeserializer": _bytes,
    "BytesDeserializer": lambda data: _java_bytes(data),
    "ShortDeserializer": _number(">h"),
    "IntegerDeserializer": _number(">i"),
    "LongDeserializer": _number(">q"),
    "FloatDeserializer": _number(">f"),
    "DoubleDeserializer": _number(">d"),
    "UUIDDeserializer": lambda data: str(uuid.UUID(_string(data))),
    "VoidDeserializer": lambda data: "null",
}
_PACKAGES: Final = ("kafka.serializer.", "org.apache.kafka.common.serialization.")


def _java_bytes(data: bytes) -> str:
    r"""Show bytes as Kafka's `Bytes.toString`: what is not printable ASCII as `\xNN`."""
    return "".join(chr(b) if 32 <= b < 127 else f"\\x{b:02X}" for b in data)


def decoder(name: str) -> Decoder:
    """Return the decoder of that class; ClassNotFoundException if there is none."""
    short = name.rpartition(".")[2]
    if short in _DECODERS and name in (short, *(package + short for package in _PACKAGES)):
        return _DECODERS[short]
    if ":" in name:
        return _python(name)
    raise JavaError("java.lang.ClassNotFoundException", name)


def _python(name: str) -> Decoder:
    module, _, function = name.partition(":")
    try:
        call: Callable[[bytes], Any] = getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise JavaError("java.lang.ClassNotFoundException", f"{name}: {error}") from None
    return lambda data: str(call(data))
