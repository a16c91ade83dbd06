"""Makes the function that writes one version of one message.

The counterpart of `decoder_generator`: the generated function appends to a list of buffers, packs
neighbouring values of fixed size with one call and puts `records` into the list as they are.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from kafkalike.protocol import primitives
from kafkalike.protocol.codec_source import CodecSource, Item, packing
from kafkalike.protocol.structs import Struct
from kafkalike.protocol.table import Field, MessageTable, StructTable

_ZERO: Final = Item("x", "")
_SHORT_ARRAY: Final = 17
"""Arrays with fewer numbers than this have a packer made in advance."""

_HELPERS: Final[dict[str, Any]] = {
    "unsigned_varint": primitives.unsigned_varint,
    "tagged_fields": primitives.tagged_fields,
    "pack": struct.pack,
}

Encoder = Callable[[Any, list[Any]], None]
"""Appends the bytes of a message (of its own class) to a list of buffers."""


def compile_encoder(
    message: MessageTable, classes: Mapping[StructTable, type[Struct]], version: int
) -> Encoder:
    """Compile the encoder of `message` at `version`."""
    is_flexible = message.flexible_from is not None and version >= message.flexible_from
    generator = _EncoderGenerator(classes, CodecSource(version, is_flexible=is_flexible))
    return generator.compile(message.struct)


@cache
def _array_packers(length_layout: str, layout: str) -> tuple[Callable[..., bytes], ...]:
    """Return packers of a length and that many numbers, for each short length."""
    return tuple(packing(f"{length_layout}{n}{layout}").pack for n in range(_SHORT_ARRAY))


class _EncoderGenerator:
    """Locals of the generated function: `message`, the list `out` and its `append`."""

    def __init__(self, classes: Mapping[StructTable, type[Struct]], source: CodecSource) -> None:
        self._classes = classes
        self._source = source
        self._emit = source.emit
        source.names.update(_HELPERS)

    def compile(self, table: StructTable) -> Encoder:
        self._struct(table, "message")
        self._end_run()
        return self._source.function(
            ["def codec(message, out):", "    append = out.append"],
            [],
            f"encode {table.name} v{self._source.version}",
        )

    def _packed(self, run: list[Item]) -> str:
        """Return an expression that packs a run."""
        layout = "".join(item.layout for item in run)
        if layout == "x":
            return r"b'\0'"
        name = self._source.bind("pack_" + layout.replace("?", "Z"), packing(layout).pack)
        return f"{name}({', '.join(item.expression for item in run if item.expression)})"

    def _append_run(self, *items: Item) -> None:
        """Write the run followed by `items`, and keep the run: this is one branch of several."""
        run = [*self._source.run, *items]
        if run:
            self._emit(f"append({self._packed(run)})")

    def _end_run(self, *items: Item) -> None:
        self._append_run(*items)
        self._source.run.clear()

    def _length(self, field: Field, length: str, layout: str) -> None:
        """Write the run and the length that the local `length` holds."""
        if not self._source.is_compact(field):
            self._end_run(Item(layout, length))
            return
        self._emit(f"{length} += 1")
        with self._source.block(f"if {length} < 128:"):
            self._append_run(Item("B", length))
        with self._source.block("else:"):
            self._append_run()
            self._emit(f"append(unsigned_varint({length}))")
        self._source.run.clear()

    def _null(self, field: Field, layout: str) -> None:
        self._append_run(_ZERO if self._source.is_compact(field) else Item(layout, "-1"))

    def _field(self, field: Field, value: str) -> None:
        if field.fixed_format is not None and not field.is_array:
            self._source.run.append(Item(field.fixed_format, value))
            return
        local = self._source.local("v")
        self._emit(f"{local} = {value}")
        if field.struct is not None and not field.is_array:
            self._struct(field.struct, local)
            return
        layout = "h" if field.type == "string" and not field.is_array else "i"
        write = self._array if field.is_array else self._bytes
        if not self._source.is_nullable(field):
            write(field, local, layout)
            return
        with self._source.block(f"if {local} is None:"):
            self._null(field, layout)
        with self._source.block("else:"):
            write(field, local, layout)
            self._end_run()

    def _bytes(self, field: Field, local: str, layout: str) -> None:
        """Write the string, bytes or records in `local`."""
        length = self._source.local("n")
        if field.type == "string":
            self._emit(f"{local} = {local}.encode()")
        self._emit(f"{length} = len({local})")
        self._length(field, length, layout)
        self._emit(f"append({local})")

    def _array(self, field: Field, local: str, layout: str) -> None:
        length = self._source.local("n")
        self._emit(f"{length} = len({local})")
        if field.fixed_format is not None and field.type != "uuid":
            self._end_run()
            self._fixed_elements(field, local, length)
            return
        self._length(field, length, layout)
        element = self._source.local("e")
        run = self._fixed_struct(field, element)
        if run:
            self._fixed_structs(local, element, run)
            return
        with self._source.block(f"for {element} in {local}:"):
            if field.struct is not None:
                self._struct(field.struct, element)
            elif field.fixed_format is not None:
                self._source.run.append(Item(field.fixed_format, element))
            else:
                self._bytes(field, element, "h" if field.type == "string" else "i")
            self._end_run()

    def _fixed_elements(self, field: Field, local: str, length: str) -> None:
        layout = str(field.fixed_format)
        is_compact = self._source.is_compact(field)
        length_layout = "B" if is_compact else "i"
        packers = self._source.bind(
            f"array_{length_layout}{layout}", _array_packers(length_layout, layout)
        )
        stored = f"{length} + 1" if is_compact else length
        prefix = f"unsigned_varint({stored})" if is_compact else f"pack('>i', {length})"
        self._emit(f"if {length} < {_SHORT_ARRAY}: append({packers}[{length}]({stored}, *{local}))")
        self._emit(f'else: append({prefix} + pack(f">{{{length}}}{layout}", *{local}))')

    def _fixed_struct(self, field: Field, element: str) -> list[Item]:
        """Return the run of a struct that has nothing but values of fixed size, else nothing."""
        if field.struct is None:
            return []
        inline, tagged, _ = self._source.split_fields(field.struct)
        if tagged or any(inner.is_array or inner.fixed_format is None for inner in inline):
            return []
        return [Item(str(inner.fixed_format), f"{element}.{inner.name}") for inner in inline]

    def _fixed_structs(self, local: str, element: str, run: list[Item]) -> None:
        """Write an array of structs of fixed size in one expression."""
        packed = self._packed(run)
        if self._source.is_flexible:
            unknown = f"{element}.unknown_tagged_fields"
            packed = f"{packed} + tagged_fields({unknown}) if {unknown} else " + self._packed(
                [*run, _ZERO]
            )
        self._emit(f"out += [{packed} for {element} in {local}]")

    def _struct(self, table: StructTable, local: str) -> None:
        inline, tagged, _ = self._source.split_fields(table)
        for field in inline:
            self._field(field, f"{local}.{field.name}")
        if not self._source.is_flexible:
            return
        unknown = f"{local}.unknown_tagged_fields"
        absent = [f"not {unknown}", *(self._is_default(f, f"{local}.{f.name}") for f in tagged)]
        with self._source.block(f"if {' and '.join(absent)}:"):
            self._append_run(_ZERO)
        with self._source.block("else:"):
            self._end_run()
            if tagged:
                self._tagged_fields(tagged, local, unknown)
            else:
                self._emit(f"append(tagged_fields({unknown}))")

    def _tagged_fields(self, tagged: list[Field], local: str, unknown: str) -> None:
        section, kept = self._source.local("t"), self._source.local("k")
        self._emit(f"{section} = dict({unknown} or ())")
        self._emit(f"{kept} = out")
        for field in tagged:
            value = f"{local}.{field.name}"
            with self._source.block(f"if not ({self._is_default(field, value)}):"):
                self._emit("out = []; append = out.append")
                self._field(field, value)
                self._end_run()
                self._emit(f'{section}[{field.tag}] = b"".join(out)')
        self._emit(f"out = {kept}; append = out.append")
        self._emit(f"append(tagged_fields({section}))")

    def _is_default(self, field: Field, value: str) -> str:
        """Return an expression that says whether a tagged field can be left out."""
        if field.struct is not None and not field.is_array:
            default = self._source.bind(
                f"default_{field.struct.name}", self._classes[field.struct].shared_default()
            )
            return f"({value} is {default} or {value} == {default})"
        if field.default is None:
            return f"{value} is None"
        if field.is_array:
            return f"{value} is not None and not {value}"
        return f"{value} == {field.default!r}"
