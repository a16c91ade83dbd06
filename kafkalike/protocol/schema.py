"""Makes message classes from tables: what the modules of `messages` call with their table.

A codec is compiled for one version of one message when that version is first read or written, so a
process pays only for what its peers use.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn, Self

from kafkalike.protocol.decoder_generator import Decoder, compile_decoder
from kafkalike.protocol.encoder_generator import Encoder, compile_encoder
from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.structs import Struct
from kafkalike.protocol.table import MessageTable, StructTable, parse_table


class Message(Struct):
    """A request, a response or another payload that stands on its own.

    `records` fields are memoryviews of the buffer when decoded. When encoded they can be anything
    that has a length: `encode_into` puts it into the list as it is (say, a file range to send).
    """

    __slots__ = ()

    api_key: ClassVar[int]  # -1 where there is none
    min_version: ClassVar[int]
    max_version: ClassVar[int]

    _is_request: ClassVar[bool]
    _message_table: ClassVar[MessageTable]
    _struct_classes: ClassVar[Mapping[StructTable, type[Struct]]]
    _decoders: ClassVar[dict[int, Decoder]]
    _encoders: ClassVar[dict[int, Encoder]]

    @classmethod
    def decode(cls, buffer: bytes, version: int, start: int = 0, end: int | None = None) -> Self:
        """Read the message that fills `buffer` from `start` to `end`.

        Raises `ProtocolError` if the bytes are no such message. After a request more bytes may
        follow, which are ignored as Kafka does: librdkafka's admin client has a Metadata v11 like
        that. After anything else they are an error.
        """
        if end is None:
            end = len(buffer)
        try:
            decoder = cls._decoders[version]
        except KeyError:
            decoder = cls._compile_decoder(version)
        message: Self
        message, position = decoder(buffer, start, end)
        if position != end and not cls._is_request:
            _bytes_left_over(cls.__name__, version, end - position)
        return message

    @classmethod
    def decode_prefix(
        cls, buffer: bytes, version: int, start: int = 0, end: int | None = None
    ) -> tuple[Self, int]:
        """Read a message that others may follow; return it and the position after it."""
        decoder = cls._decoders.get(version) or cls._compile_decoder(version)
        return decoder(buffer, start, len(buffer) if end is None else end)

    def encode(self, version: int) -> bytes:
        """Return the bytes of the message. All `records` must be bytes or memoryviews."""
        out: list[bytes | memoryview] = []
        self.encode_into(version, out)
        return b"".join(out)

    def encode_into(self, version: int, out: list[Any]) -> None:
        """Append the bytes of the message to a list of buffers."""
        try:
            encoder = self._encoders[version]
        except KeyError:
            encoder = self._compile_encoder(version)
        encoder(self, out)

    @classmethod
    def _compile_decoder(cls, version: int) -> Decoder:
        cls._check_version(version)
        decoder = compile_decoder(cls._message_table, cls._struct_classes, version)
        cls._decoders[version] = decoder
        return decoder

    @classmethod
    def _compile_encoder(cls, version: int) -> Encoder:
        cls._check_version(version)
        encoder = compile_encoder(cls._message_table, cls._struct_classes, version)
        cls._encoders[version] = encoder
        return encoder

    @classmethod
    def _check_version(cls, version: int) -> None:
        if version not in cls._message_table.versions:
            raise ProtocolError(
                f"{cls.__name__} has versions {cls.min_version} to {cls.max_version}, not {version}"
            )


def _bytes_left_over(name: str, version: int, count: int) -> NoReturn:
    raise ProtocolError(f"{name} v{version} is followed by {count} bytes that are not part of it")


def define(module_name: str, text: str) -> None:
    """Put the classes of a table into the module that calls."""
    module = vars(sys.modules[module_name])
    classes: dict[StructTable, type[Struct]] = {}
    for message in parse_table(text):
        for table in _structs_within(message.struct):
            if table not in classes:
                classes[table] = _define_class(module, table, classes, Struct, {})
        attributes = {
            "api_key": message.api_key,
            "min_version": message.versions.start,
            "max_version": message.versions.stop - 1,
            "_is_request": message.kind == "request",
            "_message_table": message,
            "_struct_classes": classes,
            "_decoders": {},
            "_encoders": {},
        }
        classes[message.struct] = _define_class(
            module, message.struct, classes, Message, attributes
        )


def _structs_within(table: StructTable) -> list[StructTable]:
    """Return the structs of the fields, inner ones first."""
    found: list[StructTable] = []
    for field in table.fields:
        if field.struct is not None:
            found += [*_structs_within(field.struct), field.struct]
    return found


def _define_class(
    module: dict[str, Any],
    table: StructTable,
    classes: Mapping[StructTable, type[Struct]],
    base: type[Struct],
    attributes: Mapping[str, Any],
) -> type[Struct]:
    if table.name in module:
        raise SyntaxError(f"{module['__name__']} has two different structs named {table.name}")
    namespace = {
        "__module__": module["__name__"],
        "__doc__": f"See the table of `{module['__name__']}`.",
        "__slots__": tuple(field.name for field in table.fields),
        "table": table,
        "_struct_types": {
            field.name: classes[field.struct]
            for field in table.fields
            if field.struct is not None and not field.is_array
        },
        **attributes,
    }
    cls = type(table.name, (base,), namespace)
    module[table.name] = cls
    return cls
