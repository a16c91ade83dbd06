import pytest

from kafkalike.cli.tools.line_reader import LineReader, LineRecord
from kafkalike.cli.tools.support.errors import JavaError


def read(line: str, **properties: str) -> LineRecord:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    return LineReader.from_properties(named).read(line, 1)


def test_line_is_a_value_without_key() -> None:
    assert read("a\tb") == (None, b"a\tb", [])
    assert read("") == (None, b"", [])


def test_key_stands_before_its_separator() -> None:
    assert read("k\tv:w", parse_key="true") == (b"k", b"v:w", [])
    assert read("k:v:w", parse_key="true", key_separator=":") == (b"k", b"v:w", [])


def test_line_without_a_key_is_an_error_unless_that_does_not_matter() -> None:
    with pytest.raises(JavaError, match="No key found on line 1: v"):
        read("v", parse_key="true")
    assert read("v", parse_key="true", ignore_error="true") == (None, b"v", [])


def test_headers_come_first() -> None:
    both = {"parse_key": "true", "parse_headers": "true"}
    assert read("a:1,b:\tk\tv", **both) == (b"k", b"v", [("a", b"1"), ("b", b"")])
    assert read("\tk\tv", **both) == (b"k", b"v", [])
    with pytest.raises(JavaError, match="No header key separator found in pair 'a'"):
        read("a\tv", parse_headers="true")


def test_marker_stands_for_null() -> None:
    assert read("NIL\tNIL", parse_key="true", null_marker="NIL") == (None, None, [])


def test_bytes_that_are_no_text_pass_unharmed() -> None:
    line = b"\xff\xfe".decode("utf-8", "surrogateescape")
    assert read(line).value == b"\xff\xfe"
