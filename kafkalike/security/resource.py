"""What permissions are about: topics, groups and the like, by name, prefix or all of them."""

from enum import IntEnum
from typing import Final, NamedTuple

CLUSTER_NAME: Final = "kafka-cluster"
"""The only resource of type CLUSTER."""
WILDCARD: Final = "*"
"""As a literal name: every resource of its type."""


class ResourceType(IntEnum):
    """Kafka's `ResourceType`, by the code that goes over the wire."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6

    @classmethod
    def _missing_(cls, value: object) -> "ResourceType":
        return cls.UNKNOWN


class PatternType(IntEnum):
    """Kafka's `PatternType`: how a name is meant. ANY and MATCH occur in filters only."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4

    @classmethod
    def _missing_(cls, value: object) -> "PatternType":
        return cls.UNKNOWN


class ResourcePattern(NamedTuple):
    """Resources of a type, by name; written as Kafka does in logs and messages."""

    resource_type: ResourceType
    name: str
    pattern_type: PatternType = PatternType.LITERAL

    def __str__(self) -> str:
        return (
            f"ResourcePattern(resourceType={self.resource_type.name}, name={self.name}, "
            f"patternType={self.pattern_type.name})"
        )


class ResourcePatternFilter(NamedTuple):
    """Which patterns are meant; None is any name."""

    resource_type: ResourceType
    name: str | None
    pattern_type: PatternType

    def matches(self, pattern: ResourcePattern) -> bool:
        """Whether a pattern is meant; MATCH: a resource of this name falls under it."""
        if self.resource_type not in (ResourceType.ANY, pattern.resource_type):
            return False
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, pattern.pattern_type):
            return False
        if self.name is None or self.name == pattern.name:
            return True
        if self.pattern_type is not PatternType.MATCH:
            return False
        if pattern.pattern_type is PatternType.LITERAL:
            return pattern.name == WILDCARD
        return self.name.startswith(pattern.name)

    def candidates(self) -> tuple[ResourcePattern, ...]:
        """Give the patterns that this can mean, if that is known without looking at any."""
        if self.name is None or self.resource_type in (ResourceType.ANY, ResourceType.UNKNOWN):
            return ()
        if self.pattern_type is PatternType.ANY:
            kinds: tuple[PatternType, ...] = (PatternType.LITERAL, PatternType.PREFIXED)
        elif self.pattern_type in (PatternType.LITERAL, PatternType.PREFIXED):
            kinds = (self.pattern_type,)
        else:
            return ()
        return tuple(ResourcePattern(self.resource_type, self.name, kind) for kind in kinds)
