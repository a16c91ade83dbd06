"""Reads a message field by field and tells where in the bytes each one lies.

The compiled codecs do not know where they are when bytes run out: they would be slower. So when one
fails, or when somebody wants to see the bytes, the message is read again by this slow reader.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from kafkalike.cli.wire.message_json import camel_case
from kafkalike.protocol.codec_source import CodecSource, packing
from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.primitives import read_unsigned_varint
from kafkalike.protocol.schema import Message
from kafkalike.protocol.table import Field, StructTable


class Span(NamedTuple):
    """A value and the bytes that it was read from; lengths and counts are spans of their own."""

    start: int
    end: int
    path: str
    value: Any


class FieldError(ProtocolError):
    """Names the field that cannot be read and the byte where it begins."""


def walk(cls: type[Message], data: bytes, version: int, start: int = 0) -> Iterator[Span]:
    """Give the spans of a message in order; `FieldError` where it cannot be read further."""
    flexible_from = cls._message_table.flexible_from
    is_flexible = flexible_from is not None and version >= flexible_from
    return _Walker(data, CodecSource(version, is_flexible=is_flexible), start).struct(cls.table, "")


def explain_failure(cls: type[Message], data: bytes, version: int, error: ProtocolError) -> str:
    """Say where a message cannot be read; falls back to what the codec said."""
    if version not in cls._message_table.versions:
        return str(error)
    try:
        for _ in walk(cls, data, version):
            pass
    except FieldError as found:
        return f"{cls.__name__} v{version}: {found}"
    return str(error)


class _Walker:
    def __init__(self, data: bytes, source: CodecSource, start: int) -> None:
        self._data = data
        self._source = source
        self._position = start

    def struct(self, table: StructTable, path: str) -> Iterator[Span]:
        inline, tagged, _ = self._source.split_fields(table)
        for field in inline:
            yield from self._field(field, _join(path, field))
        if self._source.is_flexible:
            yield from self._tags({field.tag: field for field in tagged}, path)

    def _field(self, field: Field, path: str) -> Iterator[Span]:
        if field.is_array:
            yield from self._array(field, path)
        elif field.struct is not None:
            yield from self.struct(field.struct, path)
        else:
            yield from self._scalar(field, path, self._source.is_nullable(field))

    def _array(self, field: Field, path: str) -> Iterator[Span]:
        count = yield from self._length(field, path, "i", "count", self._source.is_nullable(field))
        for number in range(count):
            place = f"{path}[{number}]"
            if field.struct is not None:
                yield from self.struct(field.struct, place)
            else:
                yield from self._scalar(field, place, is_nullable=False)

    def _scalar(self, field: Field, path: str, is_nullable: bool) -> Iterator[Span]:
        if field.fixed_format is not None:
            layout = packing(field.fixed_format)
            start = self._take(layout.size, path, field.type)
            yield Span(start, self._position, path, layout.unpack_from(self._data, start)[0])
            return
        layout_name = "h" if field.type == "string" else "i"
        # A null string, unlike one that is not allowed to be null, is nothing more than its length.
        size = yield from self._length(
            field, path, layout_name, "length", is_nullable or field.type == "records"
        )
        if size <= 0:
            return
        start = self._take(size, path, f"{field.type} of {size} bytes")
        yield Span(start, self._position, path, self._text(field, start, path))

    def _text(self, field: Field, start: int, path: str) -> Any:
        data = self._data[start : self._position]
        if field.type != "string":
            return data
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise FieldError(f"{path} at byte {start}: {error}") from None

    def _length(
        self, field: Field, path: str, layout_name: str, what: str, is_nullable: bool
    ) -> Any:  # a generator: it gives its span and returns the number
        start = self._position
        if self._source.is_compact(field):
            number = self._varint(f"{path} ({what})") - 1
        else:
            layout = packing(layout_name)
            number = layout.unpack_from(
                self._data, self._take(layout.size, f"{path} ({what})", "length")
            )[0]
        if number < 0 and not is_nullable:
            raise FieldError(f"{path} at byte {start} is null, which this version does not allow")
        if number > len(self._data) - self._position:
            left = len(self._data) - self._position
            raise FieldError(f"{path} at byte {start}: its {what} is {number}, {left} bytes follow")
        yield Span(start, self._position, f"{path} ({what})", number)
        return max(number, 0)

    def _tags(self, known: dict[int | None, Field], path: str) -> Iterator[Span]:
        place = f"{path}.tagged fields" if path else "tagged fields"
        start = self._position
        count = self._varint(place)
        yield Span(start, self._position, place, count)
        for _ in range(count):
            start = self._position
            tag, size = self._varint(place), self._varint(place)
            if tag in known:
                yield from self._field(known[tag], _join(path, known[tag]))
            else:
                content = self._take(size, f"{place}: tag {tag}", f"{size} bytes")
                yield Span(
                    start,
                    self._position,
                    f"{place}: tag {tag}",
                    self._data[content : content + size],
                )

    def _varint(self, path: str) -> int:
        start = self._position
        try:
            number, self._position = read_unsigned_varint(self._data, start)
        except IndexError:
            raise FieldError(f"{path} at byte {start}: the bytes end there") from None
        except ProtocolError as error:
            raise FieldError(f"{path} at byte {start}: {error}") from None
        return number

    def _take(self, size: int, path: str, what: str) -> int:
        start, left = self._position, len(self._data) - self._position
        if size > left:
            raise FieldError(f"{path} at byte {start}: {what} is cut off, {left} bytes are left")
        self._position += size
        return start


def _join(path: str, field: Field) -> str:
    name = camel_case(field.name)
    return f"{path}.{name}" if path else name
