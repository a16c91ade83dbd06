"""Where properties come from: files in Java's `.properties` syntax, and `key=value` arguments."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from kafkalike.config.errors import ConfigError

_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|u|.)", re.DOTALL)
_BLANK: Final = " \t\f"
# The key ends at the first blank, "=" or ":" that no backslash protects.
_KEY: Final = re.compile(r"(?:\\.|[^\\ \t\f=:])*", re.DOTALL)
_SEPARATOR: Final = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")


def read_properties(path: Path) -> dict[str, str]:
    """Read a properties file; the last of several values for a key counts."""
    try:
        # Java reads properties as ISO 8859-1; other characters are written as \uXXXX.
        text = path.read_text(encoding="iso-8859-1")
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    return parse_properties(text)


def parse_properties(text: str) -> dict[str, str]:
    """Read properties: comments, `=`, `:` or a blank between, continued lines, escapes."""
    properties = {}
    for line in _logical_lines(text):
        name = _KEY.match(line)
        assert name is not None  # The pattern matches the empty string.
        separator = _SEPARATOR.match(line, name.end())
        assert separator is not None
        properties[_unescape(name[0])] = _unescape(line[separator.end() :])
    return properties


def parse_overrides(arguments: Iterable[str]) -> dict[str, str]:
    """Read `--override key=value` arguments."""
    properties = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals or not name:
            raise ConfigError(f"expected key=value, but found {argument!r}")
        properties[name] = value
    return properties


def format_properties(properties: Iterable[tuple[str, str]]) -> str:
    """Write properties such that Java, and `parse_properties`, read the same."""
    return "".join(f"{_escape(name, _KEY_SPECIAL)}={_escape_value(v)}\n" for name, v in properties)


def _logical_lines(text: str) -> Iterator[str]:
    """Yield lines without comments, a line that ends in an odd backslash joined with the next."""
    pending = ""
    continued = False
    for physical in re.split(r"\r\n|\r|\n", text):
        line = physical.lstrip(_BLANK)
        if not continued and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        continued = backslashes % 2 == 1
        pending += line[:-1] if continued else line
        if not continued:
            yield pending
            pending = ""
    if pending:
        yield pending


def _unescape(text: str) -> str:
    return _ESCAPED.sub(_unescaped, text) if "\\" in text else text


def _unescaped(match: re.Match[str]) -> str:
    escape = match[1]
    if escape == "u":
        raise ConfigError("Malformed \\uxxxx encoding.")
    return chr(int(escape[1:], 16)) if len(escape) == 5 else _ESCAPES.get(escape, escape)


_KEY_SPECIAL: Final = frozenset("\\=:#! ")
_VALUE_SPECIAL: Final = frozenset("\\")
_NAMED: Final = {character: name for name, character in _ESCAPES.items()}


def _escape(text: str, special: frozenset[str]) -> str:
    return "".join(_escaped(character, special) for character in text)


def _escaped(character: str, special: frozenset[str]) -> str:
    if character in special:
        return f"\\{character}"
    if character in _NAMED:
        return f"\\{_NAMED[character]}"
    if " " <= character <= "~":
        return character
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def _escape_value(value: str) -> str:
    escaped = _escape(value, _VALUE_SPECIAL)
    return f"\\{escaped}" if escaped.startswith(" ") else escaped
