"""The help of a tool: two columns of 40 and 39 characters, as joptsimple writes them."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Final

from kafkalike.cli.tools.support.options import Option

_OPTION_WIDTH: Final = 40
_HELP_WIDTH: Final = 39
_GAP: Final = " "


def format_help(options: Sequence[Option]) -> str:
    """Write all options in the order of their names."""
    is_starred = any(option.is_required for option in options)
    head = "Option (* = required)" if is_starred else "Option"
    rows = [(head, ["Description"]), ("-" * len(head), ["-----------"])]
    rows += [
        (_usage(option), _help(option)) for option in sorted(options, key=lambda known: known.name)
    ]
    return "\n".join(line for usage, text in rows for line in _row(usage, text)) + "\n"


def _usage(option: Option) -> str:
    names = ", ".join(f"{'-' if len(name) == 1 else '--'}{name}" for name in sorted(option.names))
    starred = f"* {names}" if option.is_required else names
    if option.value is None:
        return starred
    shown = f"{option.kind_name}: {option.value}" if option.value else option.kind_name
    return f"{starred} {f'[{shown}]' if option.value_is_optional else f'<{shown}>'}"


def _help(option: Option) -> list[str]:
    *first, last = option.help.split("\n")
    if option.default is not None and option.default != "":
        last = f"{last} (default: {option.default})".strip()
    return [*first, last]


def _row(usage: str, paragraphs: list[str]) -> Iterator[str]:
    left = _wrapped(usage, _OPTION_WIDTH)
    right = [line for paragraph in paragraphs for line in _wrapped(paragraph, _HELP_WIDTH)]
    for one, other in zip_longest(left, right, fillvalue=""):
        yield f"{one:<{_OPTION_WIDTH}}{_GAP}{other:<{_HELP_WIDTH}}"


def _wrapped(text: str, width: int) -> Iterable[str]:
    # A line is one short of its column, and what follows the first one is indented by two.
    return textwrap.wrap(text, width - 1, subsequent_indent="  ", break_on_hyphens=True) or [""]
