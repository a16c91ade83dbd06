"""One thing to know about a partition or a group: what it is about, how bad it is, in words."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any


class Level(Enum):
    """Whether somebody should act."""

    FINE = "fine"
    NOTE = "note"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """What it is about (a word for programs), how bad it is, and a sentence or two for people."""

    about: str
    level: Level
    words: str

    def as_json(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self) | {"level": self.level.value}


def fine(about: str, words: str) -> Finding:
    """Make a finding that is as it should be."""
    return Finding(about, Level.FINE, words)


def note(about: str, words: str) -> Finding:
    """Make a finding that will pass, or that one should know."""
    return Finding(about, Level.NOTE, words)


def problem(about: str, words: str) -> Finding:
    """Make a finding that somebody should do something about."""
    return Finding(about, Level.PROBLEM, words)


def listed(names: Iterable[object], word: str = "and") -> str:
    """Write a list as people do: `1, 2 and 3`."""
    *first, last = [str(name) for name in names] or ["nobody"]
    return f"{', '.join(first)} {word} {last}" if first else last


def counted(number: int, thing: str) -> str:
    """Write a number of things: `1 record`, `2 records`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
