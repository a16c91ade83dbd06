"""The types of configuration values: from the text of a properties file and back, as Kafka does.

Part of Kafka's `ConfigDef`: `parseType` and `convertToString`. The numbers of `ConfigType` are
those of DescribeConfigs.
"""

import re
from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final

from kafkalike.config.errors import invalid_value


class ConfigType(IntEnum):
    """The type of a key, with its number in a DescribeConfigs answer."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Password:
    """A secret: `value` has it, printing the object does not show it."""

    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Password) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return "[hidden]"


_BITS: Final = {ConfigType.SHORT: 15, ConfigType.INT: 31, ConfigType.LONG: 63}
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_DOUBLE: Final = re.compile(r"[+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?)")
_COMMA: Final = re.compile(r"\s*,\s*")
_SIMPLE: Final[dict[ConfigType, Callable[[str], Any]]] = {
    ConfigType.STRING: str,
    ConfigType.CLASS: str,
    ConfigType.PASSWORD: Password,
    ConfigType.LIST: lambda text: tuple(_COMMA.split(text)) if text else (),
}


def parse_value(name: str, text: str, type: ConfigType) -> Any:
    """Turn the text of a properties file into a value of the key's type."""
    trimmed = text.strip()
    bits = _BITS.get(type)
    if bits is not None:
        return _parse_integer(name, text, trimmed, type, bits)
    if type == ConfigType.BOOLEAN:
        if trimmed.lower() not in ("true", "false"):
            raise invalid_value(name, text, "Expected value to be either true or false")
        return trimmed.lower() == "true"
    if type == ConfigType.DOUBLE:
        if not _DOUBLE.fullmatch(trimmed):
            raise invalid_value(name, text, "Not a number of type DOUBLE")
        return float(trimmed.rstrip("fFdD"))
    return _SIMPLE[type](trimmed)


def _parse_integer(name: str, text: str, trimmed: str, type: ConfigType, bits: int) -> int:
    if _INTEGER.fullmatch(trimmed):
        number = int(trimmed)
        if -(1 << bits) <= number < 1 << bits:
            return number
    raise invalid_value(name, text, f"Not a number of type {type.name}")


def format_value(value: Any) -> str | None:
    """Turn a value into the text that Kafka shows for it; a password into its secret."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case float():
            return java_double(value)
        case tuple():
            return ",".join(value)
        case Password():
            return value.value
    return str(value)


def java_double(number: float) -> str:
    """Print a double as Java does: `1.0E7` and `1.0E-4` where Python has other forms."""
    if number != number or number in (float("inf"), float("-inf")):
        return "NaN" if number != number else ("Infinity" if number > 0 else "-Infinity")
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(number)
    digits, _, exponent = f"{number:.17e}".partition("e")
    for precision in range(1, 17):
        shorter = f"{number:.{precision}e}"
        if float(shorter) == number:
            digits, _, exponent = shorter.partition("e")
            break
    return f"{digits}E{int(exponent)}"
