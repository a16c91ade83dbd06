"""The manners of the tools that are plain shell scripts in Kafka: usage, version, odd options."""

from collections.abc import Sequence

from kafkalike.cli.tools.support.tool import KAFKA_VERSION, print_error, print_line


def answer(given: Sequence[str], usage: str, options: Sequence[str] = ()) -> int | None:
    """Answer what needs no work and return the exit code; None: there is work to do."""
    first = given[0] if given else ""
    if first == "--version":
        print_line(f"{KAFKA_VERSION} (kafkalike)")
        return 0
    if first in ("-h", "--help"):
        print_error(usage)
        return 1
    if first.startswith("-") and first not in options:
        print_error(f"{first} is not a recognized option\n{usage}")
        return 1
    return None
