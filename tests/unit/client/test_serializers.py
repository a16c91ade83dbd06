import pytest

from kafkalike.client.serializers import SerializationError, make_deserializer, make_serializer


@pytest.mark.parametrize(
    ("name", "value", "data"),
    [
        ("bytes", b"\x00\xff", b"\x00\xff"),
        ("str", "Grüße", "Grüße".encode()),
        ("int", -2, b"\xff\xff\xff\xff\xff\xff\xff\xfe"),
        ("json", {"a": [1, None]}, b'{"a":[1,null]}'),
    ],
)
def test_value_survives_both_ways(name: str, value: object, data: bytes) -> None:
    """M42: str/int/json serialisers. M55: deserialises bytes to objects."""
    assert make_serializer(name)("t", value) == data
    deserialize = make_deserializer(name)
    assert deserialize is not None
    assert deserialize("t", data) == value


def test_null_stays_null() -> None:
    assert make_serializer("json")("t", None) is None


def test_callables_and_objects_are_serialisers() -> None:
    """M42: pluggable serialisers."""

    class Upper:
        def serialize(self, topic: str, value: str) -> bytes:
            return f"{topic}:{value.upper()}".encode()

    assert make_serializer(lambda value: value.encode())("t", "a") == b"a"
    assert make_serializer(Upper)("t", "a") == b"t:A"
    assert make_serializer(Upper())("t", "b") == b"t:B"


def test_four_bytes_are_javas_integer() -> None:
    deserialize = make_deserializer("int")
    assert deserialize is not None
    assert deserialize("t", b"\x00\x00\x00\x07") == 7


def test_what_is_no_bytes_says_what_to_do() -> None:
    with pytest.raises(SerializationError, match="value_serializer"):
        make_serializer(None)("orders", "text")


def test_what_cannot_be_read_names_the_topic() -> None:
    deserialize = make_deserializer("json")
    assert deserialize is not None
    with pytest.raises(SerializationError, match="orders"):
        deserialize("orders", b"{")


def test_unknown_name_is_refused() -> None:
    with pytest.raises(ValueError, match="json"):
        make_serializer("xml")


def test_class_that_is_called_is_a_deserialiser() -> None:
    deserialize = make_deserializer(int)
    assert deserialize is not None
    assert deserialize("t", b"42") == 42
