"""Whatever a message holds, it comes back from its own bytes."""

import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalike.protocol.primitives import (
    read_tagged_fields,
    read_unsigned_varint,
    tagged_fields,
    unsigned_varint,
)
from kafkalike.protocol.schema import Message
from kafkalike.protocol.structs import Struct
from kafkalike.protocol.table import Field
from tests.support.protocol_vectors import message_classes

PRIMITIVES: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int8": st.integers(-(2**7), 2**7 - 1),
    "int16": st.integers(-(2**15), 2**15 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint16": st.integers(0, 2**16 - 1),
    "float64": st.floats(allow_nan=False),
    "uuid": st.binary(min_size=16, max_size=16),
    "string": st.text(st.characters(codec="utf-8"), max_size=8) | st.just("x" * 130),
    "bytes": st.binary(max_size=8) | st.just(b"x" * 130),
    "records": st.binary(max_size=8),
}


def values_of(field: Field, version: int, is_flexible: bool, module: Any) -> Any:
    if field.struct is None:
        one = PRIMITIVES[field.type]
    else:
        one = structs(getattr(module, field.struct.name), version, is_flexible, module)
    values = st.lists(one, max_size=3) if field.is_array else one
    return st.none() | values if version in field.nullable else values


def structs(
    cls: type[Struct], version: int, is_flexible: bool, module: Any
) -> st.SearchStrategy[Struct]:
    fields = {
        field.name: values_of(field, version, is_flexible, module)
        for field in cls.table.fields
        if version in field.versions
    }
    tags = st.dictionaries(st.integers(10, 300), st.binary(max_size=4), min_size=1, max_size=2)
    unknown = st.none() | tags if is_flexible else st.none()

    def make(values: dict[str, Any], unknown_tagged_fields: dict[int, bytes] | None) -> Struct:
        struct = cls(**values)
        struct.unknown_tagged_fields = unknown_tagged_fields
        return struct

    return st.builds(make, st.fixed_dictionaries(fields), unknown)


@st.composite
def messages(draw: st.DrawFn) -> tuple[Message, int]:
    cls = draw(st.sampled_from(list(message_classes().values())))
    version = draw(st.integers(cls.min_version, cls.max_version))
    flexible_from = cls._message_table.flexible_from
    is_flexible = flexible_from is not None and version >= flexible_from
    return draw(structs(cls, version, is_flexible, sys.modules[cls.__module__])), version  # type: ignore[return-value]


@settings(max_examples=300, deadline=None)
@given(messages())
def test_any_message_round_trips_in_any_version(message_and_version: tuple[Message, int]) -> None:
    message, version = message_and_version
    encoded = message.encode(version)
    decoded = type(message).decode(encoded, version)
    assert decoded == message
    assert decoded.encode(version) == encoded


@given(st.integers(0, 2**32 - 1), st.binary(max_size=3))
def test_varints_round_trip(value: int, before: bytes) -> None:
    encoded = unsigned_varint(value)
    assert len(encoded) == max(1, -(-value.bit_length() // 7))
    end = len(before) + len(encoded)
    assert read_unsigned_varint(before + encoded + b"\xff", len(before)) == (value, end)


@given(st.dictionaries(st.integers(0, 2**32 - 1), st.binary(max_size=200), max_size=5))
def test_tagged_fields_round_trip_and_are_written_in_order(fields: dict[int, bytes]) -> None:
    encoded = tagged_fields(fields)
    decoded, position = read_tagged_fields(encoded, 0, len(encoded))
    assert (decoded, position) == (fields, len(encoded))
    assert list(decoded) == sorted(fields)


@pytest.mark.parametrize("name", sorted(message_classes()))
def test_a_message_of_defaults_round_trips_in_every_version(name: str) -> None:
    cls = message_classes()[name]
    for version in range(cls.min_version, cls.max_version + 1):
        assert cls.decode(cls().encode(version), version) == cls()
