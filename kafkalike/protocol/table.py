"""The notation in which messages are written down, and what is read from it.

A table lists the messages of one API, a line per field; indentation nests:

    api <key> <Name> <versions> [flexible <from>+]
    request | response | struct <Name> | data <Name> <versions> [flexible <from>+]
      <field> <type> [<versions>] [null <versions>] [tag <n>] [legacy] [= <default>]

Types are bool int8 int16 int32 int64 uint16 float64 uuid string bytes records, `[T]` an array of
T, any other name a struct whose fields follow, indented, at its first use (`struct <Name>` declares
one ahead). A leading `?` makes the field nullable in every version it has, no versions means all of
them, `legacy` keeps the field out of the compact forms of flexible versions. `#` starts a comment.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

FIXED_FORMATS: Final = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint16": "H",
    "float64": "d",
    "uuid": "16s",
}
"""The types of fixed size and their `struct` formats."""

PRIMITIVES: Final = frozenset(FIXED_FORMATS) | {"string", "bytes", "records"}

_ALL: Final = range(32768)
_NONE: Final = range(0)


class Field(NamedTuple):
    """One line of a table. `type` is the type of the elements if `is_array`."""

    name: str
    type: str
    is_array: bool
    versions: range
    nullable: range
    tag: int | None
    is_legacy: bool
    default: Any  # None for null, () for an empty array; a struct has the defaults of its fields
    struct: StructTable | None

    @property
    def fixed_format(self) -> str | None:
        """The `struct` format of a value (or element) of fixed size."""
        return FIXED_FORMATS.get(self.type)


class StructTable(NamedTuple):
    """The fields of a struct, or of a whole message."""

    name: str
    fields: tuple[Field, ...]


class MessageTable(NamedTuple):
    """One request, response or data payload with its versions."""

    struct: StructTable
    api_key: int
    kind: str
    versions: range
    flexible_from: int | None


def parse_versions(text: str) -> range:
    """Read `3`, `3-5` or `3+`."""
    if text.endswith("+"):
        return range(int(text[:-1]), _ALL.stop)
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


class _Line(NamedTuple):
    indent: int
    words: list[str]


class _Parser:
    """Reads one table, line by line."""

    def __init__(self, text: str) -> None:
        self._lines: list[_Line] = []
        for line in text.splitlines():
            content = line.partition("#")[0]
            words = content.split()
            if words:
                self._lines.append(_Line(len(content) - len(content.lstrip()), words))
        self._next = 0
        self._structs: dict[str, StructTable] = {}

    def parse(self) -> list[MessageTable]:
        messages: list[MessageTable] = []
        head: list[str] = []
        while self._next < len(self._lines):
            words = self._lines[self._next].words
            self._next += 1
            if words[0] == "api":
                head = words[1:]
            elif words[0] == "struct":
                self._structs[words[1]] = StructTable(words[1], self._fields(0))
            else:
                messages.append(self._message(words, head))
                self._structs = {}
        return messages

    def _message(self, words: list[str], head: list[str]) -> MessageTable:
        if words[0] == "data":
            key, name, versions, *flexible = "-1", words[1], words[2], *words[3:]
        elif words[0] in ("request", "response"):
            key, name, versions, *flexible = head
            name += words[0].capitalize()
        else:
            raise SyntaxError(f"a table cannot have: {' '.join(words)}")
        return MessageTable(
            StructTable(name, self._fields(0)),
            int(key),
            words[0],
            parse_versions(versions),
            parse_versions(flexible[1]).start if flexible else None,
        )

    def _fields(self, outer_indent: int) -> tuple[Field, ...]:
        fields = []
        while self._next < len(self._lines) and self._lines[self._next].indent > outer_indent:
            line = self._lines[self._next]
            self._next += 1
            fields.append(self._field(line))
        return tuple(fields)

    def _field(self, line: _Line) -> Field:
        name, type_, *words = line.words
        versions = parse_versions(words.pop(0)) if words and words[0][0].isdigit() else _ALL
        nullable = versions if type_[0] == "?" else _NONE
        type_ = type_.lstrip("?")
        is_array = type_[0] == "["
        type_ = type_.strip("[]")
        tag, is_legacy, default = None, False, ""
        options = iter(words)
        for word in options:
            if word == "legacy":
                is_legacy = True
            elif word == "null":
                nullable = parse_versions(next(options))
            elif word == "tag":
                tag = int(next(options))
            elif word == "=":
                default = next(options)
            else:
                raise SyntaxError(f"field {name} cannot have: {word}")
        struct = None if type_ in PRIMITIVES else self._struct(type_, line.indent)
        value: Any = None
        if default != "null" and (is_array or struct is None):
            value = () if is_array else parse_default(type_, default)
        return Field(name, type_, is_array, versions, nullable, tag, is_legacy, value, struct)

    def _struct(self, name: str, indent: int) -> StructTable:
        known = self._structs.get(name)
        if known is None:
            known = self._structs[name] = StructTable(name, self._fields(indent))
        return known


def parse_default(type_: str, text: str) -> Any:
    """Return the default of a primitive type, written as `text` or left out."""
    if type_ == "bool":
        return text == "true"
    if type_ == "string":
        return text
    if type_ == "bytes":
        return b""
    if type_ == "uuid":
        return bytes(16)
    if type_ == "records":
        return None
    return float(text or 0) if type_ == "float64" else int(text or "0", 0)


def parse_table(text: str) -> list[MessageTable]:
    """Read the messages of one table, in order."""
    return _Parser(text).parse()
