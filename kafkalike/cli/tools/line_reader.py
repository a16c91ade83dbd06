"""From lines of text to records (Kafka's `LineMessageReader`, with the headers of later versions).

The properties are Kafka 2.8's (`parse.key`, `key.separator`, `ignore.error`) and those that came
later: `parse.headers`, `headers.delimiter`, `headers.separator`, `headers.key.separator` (KIP-798)
and `null.marker` (KIP-810). A line is `headers TAB key TAB value`, as far as each is asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

from kafkalike.cli.tools.support.errors import JavaError


class LineRecord(NamedTuple):
    """A record to send."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineReader:
    """Splits lines; text that is not UTF-8 passes unharmed (as surrogates)."""

    parse_key: bool = False
    parse_headers: bool = False
    key_separator: str = "\t"
    headers_delimiter: str = "\t"
    headers_separator: str = ","
    headers_key_separator: str = ":"
    null_marker: str | None = None
    ignore_error: bool = False

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> Self:
        """Take what `--property` says; other properties are for readers that we do not have."""

        def is_true(name: str) -> bool:
            return properties.get(name, "").strip().lower() == "true"

        def text(name: str, default: str) -> str:
            return properties.get(name, default)

        return cls(
            parse_key=is_true("parse.key"),
            parse_headers=is_true("parse.headers"),
            key_separator=text("key.separator", "\t"),
            headers_delimiter=text("headers.delimiter", "\t"),
            headers_separator=text("headers.separator", ","),
            headers_key_separator=text("headers.key.separator", ":"),
            null_marker=properties.get("null.marker"),
            ignore_error=is_true("ignore.error"),
        )

    def read(self, line: str, number: int) -> LineRecord:
        """Return the record of a line; a part that is missing is an error that names the line."""
        headers: list[tuple[str, bytes | None]] = []
        rest = line
        if self.parse_headers:
            text, found, after = rest.partition(self.headers_delimiter)
            if found:
                rest = after
                headers = self._headers(text, number)
            elif not self.ignore_error:
                raise _error(f"No header found on line {number}: {line}")
        key: bytes | None = None
        if self.parse_key:
            text, found, after = rest.partition(self.key_separator)
            if found:
                key, rest = self._bytes(text), after
            elif not self.ignore_error:
                raise _error(f"No key found on line {number}: {line}")
        return LineRecord(key, self._bytes(rest), headers)

    def _headers(self, text: str, number: int) -> list[tuple[str, bytes | None]]:
        found = []
        for part in text.split(self.headers_separator) if text else []:
            name, separator, value = part.partition(self.headers_key_separator)
            if not separator and not self.ignore_error:
                raise _error(f"No header key separator found in pair '{part}' on line {number}")
            found.append((name, self._bytes(value) if separator else None))
        return found

    def _bytes(self, text: str) -> bytes | None:
        if text == self.null_marker:
            return None
        return text.encode("utf-8", "surrogateescape")


def _error(message: str) -> JavaError:
    return JavaError("org.apache.kafka.common.KafkaException", message)
