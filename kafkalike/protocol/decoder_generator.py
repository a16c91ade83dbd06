"""Makes the function that reads one version of one message.

The function is written out as Python source, so that reading a message is a few `struct` calls
and attribute stores with nothing to look up (as `dataclasses` does for `__init__`). Counts of
arrays are held against the bytes that are left before anything is made of them, and positions only
grow, so one look at the final position shows whether any value reached past the end.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from kafkalike.protocol import primitives
from kafkalike.protocol.codec_source import CodecSource, Item, packing
from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.structs import Struct
from kafkalike.protocol.table import Field, MessageTable, StructTable

_SHORT_ARRAY: Final = 17
"""Arrays with fewer numbers than this have an unpacker made in advance."""

_SLICES: Final = {"string": "b[p:q].decode()", "bytes": "b[p:q]", "records": "view[p:q]"}
_HELPERS: Final[dict[str, Any]] = {
    "new": object.__new__,
    "read_unsigned_varint": primitives.read_unsigned_varint,
    "read_tagged_fields": primitives.read_tagged_fields,
    "overrun": primitives.overrun,
    "unexpected_null": primitives.unexpected_null,
    "wrong_tag_size": primitives.wrong_tag_size,
    "unpack_from": struct.unpack_from,
    "StructError": struct.error,
    "ProtocolError": ProtocolError,
}

Decoder = Callable[[bytes, int, int], tuple[Any, int]]
"""From buffer, start and end to the message (of the class asked for) and the position after it."""


def compile_decoder(
    message: MessageTable, classes: Mapping[StructTable, type[Struct]], version: int
) -> Decoder:
    """Compile the decoder of `message` at `version`; `classes` are what it makes of each struct."""
    is_flexible = message.flexible_from is not None and version >= message.flexible_from
    source = CodecSource(version, is_flexible=is_flexible, indent=2)  # in the function and its try
    return _DecoderGenerator(classes, source).compile(message.struct)


@cache
def _array_unpackers(layout: str) -> tuple[Callable[..., tuple[Any, ...]], ...]:
    """Return the unpackers of that many numbers, for each short count."""
    return tuple(packing(f"{count}{layout}").unpack_from for count in range(_SHORT_ARRAY))


class _DecoderGenerator:
    """Locals of the generated function: buffer `b`, position `p`, `end`, `q` the end of a slice."""

    def __init__(self, classes: Mapping[StructTable, type[Struct]], source: CodecSource) -> None:
        self._classes = classes
        self._source = source
        self._emit = source.emit
        source.names.update(_HELPERS)

    def compile(self, table: StructTable) -> Decoder:
        self._struct(table, "message")
        title = f"{table.name} v{self._source.version}"
        head = ["def codec(b, p, end):", "    view = memoryview(b)", "    try:"]
        if not self._source.uses("view["):
            del head[1]
        return self._source.function(
            head,
            [
                "    except (StructError, IndexError, UnicodeDecodeError) as error:",
                f'        raise ProtocolError(f"{title}: {{error}}") from error',
                "    except ProtocolError as error:",
                f'        raise ProtocolError(f"{title}: {{error}}") from None',
                "    if p > end:",
                f'        raise ProtocolError("{title} is cut off")',
                "    return message, p",
            ],
            f"decode {title}",
        )

    def _end_run(self) -> None:
        """Read the gathered values of fixed size with one call."""
        run = self._source.run
        if not run:
            return
        layout = "".join(item.layout for item in run)
        if layout == "B":
            self._emit(f"{run[0].expression} = b[p]; p += 1")
        else:
            unpacker = packing(layout)
            name = self._source.bind("unpack_" + layout.replace("?", "Z"), unpacker.unpack_from)
            targets = ", ".join(item.expression for item in run)
            comma = "," if len(run) == 1 else ""
            self._emit(f"{targets}{comma} = {name}(b, p); p += {unpacker.size}")
        run.clear()

    def _length(self, field: Field, layout: str) -> str:
        """Read a length prefix as the last of the run; return its name (negative means null)."""
        length = self._source.local("n")
        if self._source.is_compact(field):
            self._source.run.append(Item("B", length))
            self._end_run()
            self._emit(f"if {length} > 127: {length}, p = read_unsigned_varint(b, p - 1)")
            self._emit(f"{length} -= 1")
        else:
            self._source.run.append(Item(layout, length))
            self._end_run()
        return length

    def _field(self, field: Field, target: str) -> None:
        if field.is_array:
            self._array(field, target)
        elif field.struct is not None:
            self._end_run()
            self._struct(field.struct, target)
        else:
            self._scalar(field, target, is_nullable=self._source.is_nullable(field))

    def _scalar(self, field: Field, target: str, *, is_nullable: bool) -> None:
        if field.fixed_format is not None:
            self._source.run.append(Item(field.fixed_format, target))
            return
        length = self._length(field, "h" if field.type == "string" else "i")
        read = f"q = p + {length}; {target} = {_SLICES[field.type]}; p = q"
        if is_nullable:
            self._emit(f"if {length} < 0: {target} = None")
            self._emit(f"else: {read}")
        else:
            self._emit(f"if {length} < 0: unexpected_null({field.name!r})")
            self._emit(read)

    def _array(self, field: Field, target: str) -> None:
        count = self._length(field, "i")
        if self._source.is_nullable(field):
            self._emit(f"if {count} < 0: {target} = None")
        else:
            self._emit(f"if {count} < 0: unexpected_null({field.name!r})")
        size = max(1, self._smallest_size(field, is_element=True))
        self._emit(f"elif {count} * {size} > end - p: overrun({field.name!r})")
        with self._source.block("else:"):
            if field.fixed_format is not None and field.type != "uuid":
                self._fixed_elements(field.fixed_format, count, target)
            else:
                self._elements(field, count, target)

    def _fixed_elements(self, layout: str, count: str, target: str) -> None:
        size = packing(layout).size
        unpackers = self._source.bind(f"array_{layout}", _array_unpackers(layout))
        self._emit(f"if {count} < {_SHORT_ARRAY}: {target} = [*{unpackers}[{count}](b, p)]")
        self._emit(f'else: {target} = [*unpack_from(f">{{{count}}}{layout}", b, p)]')
        self._emit(f"p += {count} * {size}")

    def _elements(self, field: Field, count: str, target: str) -> None:
        array, element = self._source.local("a"), self._source.local("e")
        self._emit(f"{target} = {array} = []")
        with self._source.block(f"for _ in range({count}):"):
            if field.struct is not None:
                self._struct(field.struct, element)
            else:
                self._scalar(field, element, is_nullable=False)
                self._end_run()
            self._emit(f"{array}.append({element})")

    def _struct(self, table: StructTable, target: str) -> None:
        instance = self._source.local("o")
        name = self._source.bind(f"new_{table.name}", self._classes[table])
        self._emit(f"{instance} = {target} = new({name})")
        inline, tagged, absent = self._source.split_fields(table)
        for field in absent:
            self._default(field, instance)
        for field in inline:
            self._field(field, f"{instance}.{field.name}")
        if not self._source.is_flexible:
            self._end_run()
            self._emit(f"{instance}.unknown_tagged_fields = None")
            return
        count = self._source.local("t")
        self._source.run.append(Item("B", count))
        self._end_run()
        if tagged:
            self._tagged_fields(tagged, instance, count)
        else:
            unknown = f"{instance}.unknown_tagged_fields"
            self._emit(f"if {count}: {unknown}, p = read_tagged_fields(b, p - 1, end)")
            self._emit(f"else: {unknown} = None")

    def _tagged_fields(self, tagged: list[Field], instance: str, count: str) -> None:
        for field in tagged:
            self._default(field, instance)
        self._emit(f"{instance}.unknown_tagged_fields = None")
        tag, stop = self._source.local("g"), self._source.local("z")
        with self._source.block(f"if {count}:"):
            self._emit(f"{count}, p = read_unsigned_varint(b, p - 1)")
            self._emit(f"if {count} * 2 > end - p: overrun('tagged fields')")
            with self._source.block(f"for _ in range({count}):"):
                self._emit(f"{tag}, p = read_unsigned_varint(b, p)")
                self._emit(f"{stop}, p = read_unsigned_varint(b, p); {stop} += p")
                self._emit(f"if {stop} > end: overrun(f'tagged field {{{tag}}}')")
                for number, field in enumerate(tagged):
                    with self._source.block(f"{'elif' if number else 'if'} {tag} == {field.tag}:"):
                        self._field(field, f"{instance}.{field.name}")
                        self._end_run()
                unknown = f"{instance}.unknown_tagged_fields"
                with self._source.block("else:"):
                    self._emit(f"if {unknown} is None: {unknown} = {{}}")
                    self._emit(f"{unknown}[{tag}] = b[p:{stop}]; p = {stop}")
                self._emit(f"if p != {stop}: wrong_tag_size({tag})")

    def _default(self, field: Field, instance: str) -> None:
        if field.struct is not None and not field.is_array:
            default = self._classes[field.struct].shared_default()
            value = self._source.bind(f"default_{field.struct.name}", default)
        else:
            value = self._source.constant(field.default)
        self._emit(f"{instance}.{field.name} = {value}")

    def _smallest_size(self, field: Field, *, is_element: bool = False) -> int:
        """Return the fewest bytes that the field, or an element of it, takes."""
        if field.is_array and not is_element:
            return 1 if self._source.is_compact(field) else 4
        if field.fixed_format is not None:
            return packing(field.fixed_format).size
        if field.struct is not None:
            inline, _, _ = self._source.split_fields(field.struct)
            return sum(self._smallest_size(inner) for inner in inline) + self._source.is_flexible
        if self._source.is_compact(field):
            return 1
        return 2 if field.type == "string" else 4
