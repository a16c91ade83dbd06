"""Which options need or exclude one another (Kafka's `CommandLineUtils`)."""

from collections.abc import Iterable

from kafkalike.cli.tools.support.errors import UsageError
from kafkalike.cli.tools.support.options import Parsed


def check_required(parsed: Parsed, *names: str) -> None:
    """Refuse a command line without one of these."""
    for name in names:
        if not parsed.has(name):
            raise UsageError(f'Missing required argument "{parsed.option(name)}"')


def check_excluded(parsed: Parsed, used: str, excluded: Iterable[str]) -> None:
    """Refuse a command line that has `used` and one of the others."""
    for name in excluded:
        if parsed.has(used) and parsed.has(name):
            raise UsageError(
                f'Option "{parsed.option(used)}" can\'t be used with option "{parsed.option(name)}"'
            )


def count(parsed: Parsed, names: Iterable[str]) -> int:
    """Return how many of these were given."""
    return sum(parsed.has(name) for name in names)


def key_values(texts: Iterable[str]) -> dict[str, str]:
    """Read `key=value` arguments; a value may contain equals signs, or be missing."""
    found = {}
    for text in texts:
        key, _, value = text.partition("=")
        found[key] = value
    return found
