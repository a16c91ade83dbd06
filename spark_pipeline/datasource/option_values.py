"""Reads single options: numbers, words, durations; an option that nobody knows is looked at."""

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Final

from spark_pipeline.datasource.errors import OptionError

_UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000}
_DURATION: Final = re.compile(r"\s*(\d+)\s*(ms|s|m|min|h)\s*", re.IGNORECASE)
_ALIKE: Final = 0.85
"""How much an unknown option must look like a known one to be taken for a slip."""


def lower_keys(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options by their names in lower case, for Spark does not tell cases apart."""
    return {str(name).lower(): str(value) for name, value in options.items()}


def parse_flag(options: Mapping[str, str], name: str, default: bool) -> bool:
    """Read true or false."""
    text = options.get(name.lower())
    if text is None:
        return default
    word = text.strip().lower()
    if word not in ("true", "false"):
        raise OptionError(f"option {name}: {text!r} is neither true nor false")
    return word == "true"


def parse_number(options: Mapping[str, str], name: str, low: int = 1) -> int | None:
    """Read a whole number that is not below `low`."""
    text = options.get(name.lower())
    if text is None:
        return None
    if not re.fullmatch(r"\s*-?\d+\s*", text) or int(text) < low:
        raise OptionError(f"option {name}: {text!r} is not a whole number from {low} on")
    return int(text)


def parse_duration_ms(options: Mapping[str, str], name: str, default_ms: int) -> int:
    """Read a duration as Spark writes it: 500ms, 30s, 15m, 2h; a plain number is ms."""
    text = options.get(name.lower())
    if text is None:
        return default_ms
    if text.strip().isdigit():
        return int(text)
    match = _DURATION.fullmatch(text)
    if match is None:
        raise OptionError(f"option {name}: {text!r} is not a duration like 500ms, 30s, 15m or 2h")
    return int(match[1]) * _UNITS_MS[match[2].lower()]


def parse_word(options: Mapping[str, str], name: str, default: str, words: Iterable[str]) -> str:
    """Read one of a few words."""
    text = options.get(name.lower(), default)
    if text.strip().lower() not in words:
        raise OptionError(f"option {name}: {text!r} is none of {', '.join(words)}")
    return text.strip().lower()


def check_names(options: Mapping[str, str], known: Iterable[str]) -> None:
    """Raise for an option that looks like a slip of a known one.

    Other unknown options are let through: Spark passes some of its own, as it does to any source.
    """
    names = {name.lower(): name for name in known}
    for given in options:
        if given in names or given.startswith("kafka."):
            continue
        close = difflib.get_close_matches(given, names, 1, _ALIKE)
        if close:
            raise OptionError(f"option {given} is not known: is {names[close[0]]} meant?")


def kafka_settings(options: Mapping[str, str], refused: Mapping[str, str]) -> dict[str, str]:
    """Return what is given with the prefix `kafka.`, without it; `refused` has reasons."""
    found = {name[6:]: value for name, value in options.items() if name.startswith("kafka.")}
    for name, why in refused.items():
        if name in found:
            raise OptionError(f"option kafka.{name} is not supported: {why}")
    if not found.get("bootstrap.servers", "").strip():
        raise OptionError(
            "option kafka.bootstrap.servers is missing: give host:port of at least one broker"
        )
    return found
