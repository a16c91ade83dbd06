"""What the decoder and the encoder generator share: a growing function body and its constants."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

from kafkalike.protocol.table import Field, StructTable


@cache
def packing(layout: str) -> struct.Struct:
    """Return the big-endian `Struct` for a layout; codecs with the same runs share it."""
    return struct.Struct(">" + layout)


class Item(NamedTuple):
    """One value of a run: its `struct` format and the expression it is read into or made from."""

    layout: str
    expression: str


class CodecSource:
    """Collects the lines of one function, and the objects that its free names stand for.

    Neighbouring values of fixed size gather in `run` so that one `struct` call moves them all; a
    generator ends the run when something of variable size comes.
    """

    def __init__(self, version: int, *, is_flexible: bool, indent: int = 1) -> None:
        self.version = version
        self.is_flexible = is_flexible
        self.run: list[Item] = []
        self.names: dict[str, Any] = {}
        self._lines: list[str] = []
        self._indent = indent
        self._locals = 0

    def emit(self, line: str) -> None:
        """Add a line at the present depth."""
        self._lines.append("    " * self._indent + line)

    @contextmanager
    def block(self, opening: str) -> Iterator[None]:
        """Add a line that opens a block; what is emitted inside is indented."""
        self.emit(opening)
        self._indent += 1
        yield
        self._indent -= 1

    def local(self, prefix: str) -> str:
        """Return a name that no other local of the function has."""
        self._locals += 1
        return f"{prefix}{self._locals}"

    def bind(self, name: str, value: object) -> str:
        """Make `name` stand for an object in the function, and return it."""
        self.names[name] = value
        return name

    def constant(self, value: object) -> str:
        """Return an expression for a default value."""
        return "[]" if value == () else repr(value)

    def is_compact(self, field: Field) -> bool:
        """Whether the lengths of the field are varints."""
        return self.is_flexible and not field.is_legacy

    def is_nullable(self, field: Field) -> bool:
        """Whether this version allows null in the field."""
        return self.version in field.nullable

    def split_fields(self, table: StructTable) -> tuple[list[Field], list[Field], list[Field]]:
        """Return the fields in line, the tagged fields and those this version does not have."""
        inline, tagged, absent = [], [], []
        for field in table.fields:
            if self.version not in field.versions:
                absent.append(field)
            elif field.tag is not None:
                tagged.append(field)
            else:
                inline.append(field)
        return inline, tagged, absent

    def uses(self, text: str) -> bool:
        """Whether any line so far has `text` in it."""
        return any(text in line for line in self._lines)

    def function(self, head: list[str], tail: list[str], title: str) -> Callable[..., Any]:
        """Compile `head`, the lines and `tail`, which together define a function named `codec`."""
        source = "\n".join([*head, *self._lines, *tail, ""])
        exec(compile(source, f"<{title}>", "exec"), self.names)
        function: Callable[..., Any] = self.names["codec"]
        return function
