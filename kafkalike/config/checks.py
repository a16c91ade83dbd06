"""Checks that a key's declaration names: what values are valid, and how documentation says it.

Kafka's validators: calling a check raises a `ConfigError` in Kafka's words, `str()` of it is the
column "valid values".
"""

import re
from typing import Any, Final

from kafkalike.config.api_version import ALL_VERSIONS, api_version
from kafkalike.config.errors import ConfigError, invalid_value
from kafkalike.config.value_types import format_value


class Range:
    """A number between two inclusive bounds, of which the upper may be absent."""

    __slots__ = ("high", "low")

    def __init__(self, low: int, high: int | None = None) -> None:
        self.low = low
        self.high = high

    def __call__(self, name: str, value: Any) -> None:
        """Refuse a number out of bounds."""
        if value is None:
            raise invalid_value(name, None, "Value must be non-null")
        if value < self.low:
            reason = f"Value must be at least {self.low}"
            raise invalid_value(name, format_value(value), reason)
        if self.high is not None and value > self.high:
            reason = f"Value must be no more than {self.high}"
            raise invalid_value(name, format_value(value), reason)

    def __str__(self) -> str:
        return f"[{self.low},...]" if self.high is None else f"[{self.low},...,{self.high}]"


class OneOf:
    """One of some words; of a list, every element."""

    __slots__ = ("words",)

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words

    def __call__(self, name: str, value: Any) -> None:
        """Refuse a word that is not among them."""
        for word in value if isinstance(value, tuple) else (value,):
            if word not in self.words:
                raise invalid_value(name, word, f"String must be one of: {', '.join(self.words)}")

    def __str__(self) -> str:
        return f"[{', '.join(self.words)}]"


class IsApiVersion:
    """The name of a Kafka version."""

    def __call__(self, name: str, value: Any) -> None:
        """Refuse what names no version."""
        try:
            api_version(value)
        except ConfigError as error:
            raise invalid_value(name, value, error.message) from None

    def __str__(self) -> str:
        return f"[{', '.join(version.version for version in ALL_VERSIONS)}]"


class IsThrottledReplicas:
    """`*`, or a list of `partition:broker`."""

    def __call__(self, name: str, value: Any) -> None:
        """Refuse other lists."""
        if all(_REPLICA.fullmatch(replica.strip()) for replica in value) or "".join(value) == "*":
            return
        shown = f"[{', '.join(value)}]"
        reason = (
            f"{name} must be the literal '*' or a list of replicas in the following format: {self}"
        )
        raise invalid_value(name, shown, reason)

    def __str__(self) -> str:
        return "[partitionId]:[brokerId],[partitionId]:[brokerId],..."


class IsVoterList:
    """The voters of a Raft quorum (KRaft, which this broker does not have)."""

    def __call__(self, name: str, value: Any) -> None:
        """Accept all: the key has no effect."""

    def __str__(self) -> str:
        return "non-empty list"


_REPLICA: Final = re.compile(r"(?:[0-9]+:[0-9]+)?")
IS_API_VERSION: Final = IsApiVersion()
IS_THROTTLED_REPLICAS: Final = IsThrottledReplicas()
IS_VOTER_LIST: Final = IsVoterList()


def at_least(low: int) -> Range:
    """Check that a number is not below a bound."""
    return Range(low)


def between(low: int, high: int) -> Range:
    """Check that a number is within two inclusive bounds."""
    return Range(low, high)


def one_of(*words: str) -> OneOf:
    """Check that a word, or every element of a list, is one of these."""
    return OneOf(words)
