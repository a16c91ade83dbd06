"""The tables of the message modules against the facts read from Kafka's definitions."""

import pytest

from kafkalike.protocol.table import (
    MessageTable,
    StructTable,
    parse_table,
    parse_versions,
)
from tests.support.protocol_vectors import GOLDEN, message_modules

GOLDEN_TABLES = {
    message.struct.name: message
    for message in parse_table((GOLDEN / "protocol" / "messages.kmsg").read_text(encoding="utf-8"))
}


def _facts(message: MessageTable) -> object:
    return message._replace(struct=_without_struct_names(message.struct))


def _without_struct_names(table: StructTable) -> object:
    """Leave out the names of structs: they are not on the wire, and a few of ours differ."""
    return [
        field
        if field.struct is None
        else field._replace(type="", struct=_without_struct_names(field.struct))  # type: ignore[arg-type]
        for field in table.fields
    ]


def test_our_tables_have_all_fields_of_all_messages_and_nothing_else() -> None:
    ours = {
        message.struct.name: message
        for module in message_modules()
        for message in parse_table(module.TABLE)
    }
    assert set(ours) == set(GOLDEN_TABLES)
    for name, message in ours.items():
        assert _facts(message) == _facts(GOLDEN_TABLES[name]), name


def test_versions_are_one_a_range_or_open() -> None:
    assert parse_versions("3") == range(3, 4)
    assert parse_versions("3-5") == range(3, 6)
    assert 32767 in parse_versions("3+")
    assert 2 not in parse_versions("3+")


def test_a_field_has_type_versions_nullability_tag_and_default() -> None:
    [message] = parse_table(
        """
        data Example 0-4 flexible 2+
          plain    int32               # a comment
          maybe    ?string 1+ = null
          later    [string] null 3-4
          tagged   int64 2+ tag 7 = 0x10
          old      string legacy
        """.replace("\n        ", "\n")
    )
    plain, maybe, later, tagged, old = message.struct.fields
    assert (message.kind, message.versions, message.flexible_from) == ("data", range(5), 2)
    assert (plain.type, plain.default, len(plain.nullable)) == ("int32", 0, 0)
    assert maybe.default is None
    assert maybe.nullable == maybe.versions == parse_versions("1+")
    assert (later.is_array, later.default, later.nullable) == (True, (), range(3, 5))
    assert (tagged.tag, tagged.default) == (7, 16)
    assert old.is_legacy


@pytest.mark.parametrize(
    "text", ["data Example 0\n  name string wrong", "unknown Example 0\n  name string"]
)
def test_a_mistake_in_a_table_is_a_syntax_error(text: str) -> None:
    with pytest.raises(SyntaxError):
        parse_table(text)
