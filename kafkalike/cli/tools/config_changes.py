"""What `kafka-configs --alter` is to set and to remove, read from its options."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from kafkalike.cli.tools.support.client import read_settings
from kafkalike.cli.tools.support.errors import IllegalArgumentError
from kafkalike.cli.tools.support.options import Parsed
from kafkalike.cli.tools.support.tool import print_line

_FORMAT_VERSION: Final = "message.format.version"

# Not inside brackets: the next bracket, if any, is one that opens.
_OUTSIDE: Final = r"(?=[^\]]*(?:\[|$))"
_CREDENTIAL: Final = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)", re.DOTALL)

DEFAULT_ITERATIONS: Final = 4096
MECHANISMS: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
QUOTAS: Final = frozenset(
    {
        "producer_byte_rate",
        "consumer_byte_rate",
        "request_percentage",
        "controller_mutation_rate",
    }
)
IP_QUOTAS: Final = frozenset({"connection_creation_rate"})


@dataclass(frozen=True, slots=True)
class ConfigChanges:
    """New values by name, and the names of what is to go."""

    added: dict[str, str]
    deleted: list[str]

    @classmethod
    def of(cls, parsed: Parsed) -> Self:
        """Read the options."""
        added: dict[str, str] = {}
        if parsed.has("add-config-file"):
            added |= read_settings(Path(parsed.value("add-config-file")))
        if parsed.has("add-config"):
            added |= parse_added(parsed.value("add-config"))
        if _FORMAT_VERSION in added:
            print_line(
                f"WARNING: The configuration {_FORMAT_VERSION}={added[_FORMAT_VERSION]} is "
                "specified. This configuration will be ignored if the version is newer than the "
                "inter.broker.protocol.version specified in the broker."
            )
        return cls(added, [name.strip() for name in parsed.values("delete-config")])


def parse_added(text: str) -> dict[str, str]:
    """Read `k1=v1,k2=[v1,v2]`; the brackets go, wherever they stand in a value."""
    pairs = [re.split(rf"\s*={_OUTSIDE}\s*", part) for part in _split(text)]
    if any(len(pair) != 2 for pair in pairs):
        raise IllegalArgumentError(
            "requirement failed: Invalid entity config: all configs to be added must be in the "
            'format "key=val".'
        )
    return {name.strip(): re.sub(r"[\[\]]", "", value).strip() for name, value in pairs}


def _split(text: str) -> list[str]:
    parts = re.split(f",{_OUTSIDE}", text)
    while parts and not parts[-1]:  # as Java's split
        parts.pop()
    return parts


def parse_credential(mechanism: str, text: str) -> tuple[int, str]:
    """Read iterations and password of a SCRAM credential."""
    match = _CREDENTIAL.fullmatch(text)
    if match is None:
        raise IllegalArgumentError(f"Invalid credential property {mechanism}={text}")
    given = match[1]
    iterations = DEFAULT_ITERATIONS if given in (None, "", "-1") else int(given)
    if iterations < DEFAULT_ITERATIONS:
        raise IllegalArgumentError(
            f"Iterations {iterations} is less than the minimum {DEFAULT_ITERATIONS} required for "
            f"{mechanism}"
        )
    return iterations, match[2]


def parse_quota(name: str, text: str) -> float:
    """Read the value of a quota."""
    try:
        return float(text)
    except ValueError:
        raise IllegalArgumentError(
            f"Cannot parse quota configuration value for {name}: {text}"
        ) from None
