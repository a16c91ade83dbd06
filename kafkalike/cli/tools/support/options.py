"""The options of a tool and how a command line is read, as joptsimple does it for Kafka's tools.

`--name value` and `--name=value`, names may be cut short while only one fits, one hyphen does as
well as two, an option may stand several times. Errors are those of joptsimple, by its names.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kafkalike.cli.tools.support.errors import OptionError

_INT_RANGE: Final = range(-(1 << 31), 1 << 31)
_LONG_RANGE: Final = range(-(1 << 63), 1 << 63)


def integer(text: str) -> int:
    """Read a number as Java's Integer."""
    return _number_in(text, _INT_RANGE)


def long(text: str) -> int:
    """Read a number as Java's Long."""
    return _number_in(text, _LONG_RANGE)


def _number_in(text: str, allowed: range) -> int:
    number = int(text)
    if number not in allowed or text != text.strip() or "_" in text:
        raise ValueError(text)
    return number


@dataclass(frozen=True, slots=True)
class Option:
    """One option: `value` says what its argument is (None: a switch), `kind` how it is read.

    `separator` splits an argument into several; `value_is_optional` lets it be left out;
    `kind_name` stands before `value` in the help.
    """

    name: str
    help: str
    value: str | None = None
    kind: Callable[[str], Any] = str
    kind_name: str = "String"
    separator: str | None = None
    value_is_optional: bool = False
    default: Any = None
    aliases: tuple[str, ...] = ()
    is_required: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The name, and others for the same."""
        return (self.name, *self.aliases)

    @property
    def takes_value(self) -> bool:
        """Whether an argument follows."""
        return self.value is not None

    def __str__(self) -> str:
        return f"[{self.name}]"

    def read(self, text: str) -> list[Any]:
        """Return the values of one argument."""
        parts = [text] if self.separator is None else text.split(self.separator)
        return [self._convert(part) for part in parts]

    def _convert(self, text: str) -> Any:
        try:
            return self.kind(text)
        except (ValueError, KeyError):
            raise OptionError(
                "OptionArgumentConversionException",
                f"Cannot parse argument '{text}' of option {self.name}",
            ) from None


def switch(name: str, help: str) -> Option:
    """Make an option without argument."""
    return Option(name, help)


class Parsed:
    """What was on the command line."""

    def __init__(self, options: Sequence[Option], arguments: Sequence[str]) -> None:
        self.options = options
        self.arguments = list(arguments)
        """The command line as it was given."""
        self.given: list[str] = []
        """The options in the order in which they stand there, as often as they do."""
        self.rest: list[str] = []
        """What is not an option, nor the argument of one."""
        self._found: dict[str, list[Any]] = {}
        self._by_name = {name: option for option in options for name in option.names}

    def has(self, name: str) -> bool:
        """Whether the option was given."""
        return self._by_name[name].name in self._found

    def values(self, name: str) -> list[Any]:
        """Return all values of an option; its default if there are none."""
        option = self._by_name[name]
        found = self._found.get(option.name)
        if found:
            return found
        return [] if option.default is None else [option.default]

    def value(self, name: str) -> Any:
        """Return the only value of an option: the default, or None, if it was not given."""
        found = self.values(name)
        if len(found) > 1:
            raise OptionError(
                "MultipleArgumentsForOptionException",
                f"Found multiple arguments for option {name}, but you asked for only one",
            )
        return found[0] if found else None

    def option(self, name: str) -> Option:
        """Return the option of a name."""
        return self._by_name[name]

    def add(self, option: Option, values: Iterable[Any] = ()) -> None:
        """Take note of an option."""
        self.given.append(option.name)
        self._found.setdefault(option.name, []).extend(values)


def parse(options: Sequence[Option], arguments: Sequence[str]) -> Parsed:
    """Read a command line; OptionError if it cannot be."""
    parsed = Parsed(options, arguments)
    waiting = list(reversed(arguments))
    while waiting:
        token = waiting.pop()
        if token == "--":
            parsed.rest += reversed(waiting)
            break
        if token.startswith("-") and token != "-":
            _take_option(parsed, token, waiting)
        else:
            parsed.rest.append(token)
    _check_required(parsed)
    return parsed


def _take_option(parsed: Parsed, token: str, waiting: list[str]) -> None:
    name, equals, text = token.lstrip("-").partition("=")
    option = find(parsed.options, name)
    if option is None:
        raise OptionError("UnrecognizedOptionException", f"{name} is not a recognized option")
    if not option.takes_value:
        parsed.add(option)
    elif equals:
        parsed.add(option, option.read(text))
    elif waiting and (not option.value_is_optional or _is_value(option, waiting[-1])):
        parsed.add(option, option.read(waiting.pop()))
    elif option.value_is_optional:
        parsed.add(option)
    else:
        raise OptionError(
            "OptionMissingRequiredArgumentException", f"Option {option.name} requires an argument"
        )


def _is_value(option: Option, token: str) -> bool:
    """Whether what follows is an argument that may be left out: `-1` is one, if numbers are."""
    if not token.startswith("-"):
        return True
    try:
        return option.kind in (integer, long) and bool(option.read(token))
    except OptionError:
        return False


def find(options: Sequence[Option], name: str) -> Option | None:
    """Return the option of a name, or of the beginning of one if no other begins so."""
    by_name = {known: option for option in options for known in option.names}
    if name in by_name:
        return by_name[name]
    close = [known for known in by_name if name and known.startswith(name)]
    return by_name[close[0]] if len(close) == 1 else None


def _check_required(parsed: Parsed) -> None:
    names = [option.name for option in parsed.options if option.is_required]
    # Like joptsimple, which lets the help pass without them.
    missing = [name for name in names if not parsed.has(name)]
    if missing and not any(known.name == "help" and parsed.has("help") for known in parsed.options):
        raise OptionError(
            "MissingRequiredOptionsException",
            f"Missing required option(s) {_listed(missing)}",
        )


def _listed(names: list[str]) -> str:
    return f"[{', '.join(names)}]"
