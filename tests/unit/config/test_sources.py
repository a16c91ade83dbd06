from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalike.config.errors import ConfigError
from kafkalike.config.sources import (
    format_properties,
    parse_overrides,
    parse_properties,
    read_properties,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1\nb=2\n", {"a": "1", "b": "2"}),
        ("a = 1 ", {"a": "1 "}),
        ("a:1", {"a": "1"}),
        ("a 1", {"a": "1"}),
        ("a", {"a": ""}),
        ("a==1", {"a": "=1"}),
        ("a=b=c:d", {"a": "b=c:d"}),
        ("# a=1\n! b=2\n  # c=3\n\n \t\nd=4", {"d": "4"}),
        ("a=1\\\n   2\\\n\t3", {"a": "123"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=1\\\n# no comment", {"a": "1# no comment"}),
        ("a\\ b\\=c=1", {"a b=c": "1"}),
        ("a=\\t\\n\\u00e4\\x\\:", {"a": "\t\n\xe4x:"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=1\\", {"a": "1"}),
        ("=1", {"": "1"}),
    ],
)
def test_properties_are_read_as_java_reads_them(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected


def test_a_broken_escape_is_refused() -> None:
    with pytest.raises(ConfigError, match="Malformed"):
        parse_properties("a=\\u12")


@given(st.dictionaries(st.text(min_size=1), st.text(), max_size=5))
def test_what_is_written_reads_back(properties: dict[str, str]) -> None:
    properties = {
        name.encode("utf-16", "surrogatepass").decode("utf-16", "replace"): value
        for name, value in properties.items()
    }
    text = format_properties(properties.items())
    text.encode("ascii")
    read = parse_properties(text)
    # A character beyond 16 bits is written as two escapes, as Java has it.
    read = {_joined(name): _joined(value) for name, value in read.items()}
    assert read == properties


def _joined(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16")


def test_a_file_is_read_as_latin_1(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_bytes(b"a=\xe4\n")
    assert read_properties(path) == {"a": "\xe4"}


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*gone\.properties: No such file"):
        read_properties(tmp_path / "gone.properties")


def test_overrides_are_key_and_value() -> None:
    assert parse_overrides(["a=1", "b=x=y", "c="]) == {"a": "1", "b": "x=y", "c": ""}
    for argument in ("a", "=1", ""):
        with pytest.raises(ConfigError, match="expected key=value"):
            parse_overrides([argument])
