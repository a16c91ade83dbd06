import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalike.config.errors import ConfigError
from kafkalike.config.value_types import (
    ConfigType,
    Password,
    format_value,
    java_double,
    parse_value,
)


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        (ConfigType.BOOLEAN, " TRUE ", True),
        (ConfigType.BOOLEAN, "false", False),
        (ConfigType.STRING, "  a b ", "a b"),
        (ConfigType.INT, " -12 ", -12),
        (ConfigType.INT, "+2147483647", 2147483647),
        (ConfigType.SHORT, "32767", 32767),
        (ConfigType.LONG, "-9223372036854775808", -(2**63)),
        (ConfigType.DOUBLE, "0.5", 0.5),
        (ConfigType.DOUBLE, "1e3d", 1000.0),
        (ConfigType.LIST, "a , b,c", ("a", "b", "c")),
        (ConfigType.LIST, "", ()),
        (ConfigType.CLASS, "org.example.Thing", "org.example.Thing"),
        (ConfigType.PASSWORD, "secret", Password("secret")),
    ],
)
def test_text_becomes_a_value_of_the_type(type: ConfigType, text: str, value: object) -> None:
    assert parse_value("k", text, type) == value


@pytest.mark.parametrize(
    ("type", "text", "reason"),
    [
        (ConfigType.BOOLEAN, "yes", "Expected value to be either true or false"),
        (ConfigType.INT, "12a", "Not a number of type INT"),
        (ConfigType.INT, "2147483648", "Not a number of type INT"),
        (ConfigType.SHORT, "-32769", "Not a number of type SHORT"),
        (ConfigType.LONG, "", "Not a number of type LONG"),
        (ConfigType.INT, "1_000", "Not a number of type INT"),
        (ConfigType.DOUBLE, "half", "Not a number of type DOUBLE"),
    ],
)
def test_text_that_does_not_fit_is_refused_in_kafkas_words(
    type: ConfigType, text: str, reason: str
) -> None:
    with pytest.raises(ConfigError, match=f"^Invalid value {text} for configuration k: {reason}$"):
        parse_value("k", text, type)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (True, "true"),
        (7, "7"),
        (0.5, "0.5"),
        (("a", "b"), "a,b"),
        (Password("secret"), "secret"),
    ],
)
def test_values_are_shown_as_kafka_shows_them(value: object, text: str | None) -> None:
    assert format_value(value) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (1.25e10, "1.25E10"),
        (-2e-5, "-2.0E-5"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (0.0, "0.0"),
    ],
)
def test_doubles_are_printed_as_java_does(number: float, text: str) -> None:
    assert java_double(number) == text


@given(st.floats(allow_nan=False))
def test_a_printed_double_reads_back(number: float) -> None:
    assert parse_value("k", java_double(number), ConfigType.DOUBLE) == number


def test_a_password_does_not_show_its_secret() -> None:
    password = Password("secret")
    assert "secret" not in f"{password} {password!r} {[password]}"
    assert password != "secret"
    assert len({password, Password("secret")}) == 1
