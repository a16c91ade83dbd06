"""What an admin client is given: the names and arguments of kafka-python's `kafka.admin`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create; -1 leaves the number to the broker's defaults."""

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    replica_assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)
    topic_configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewPartitions:
    """How many partitions a topic shall have, and where the new ones go."""

    total_count: int
    new_assignments: Sequence[Sequence[int]] | None = None


class ConfigResourceType(IntEnum):
    """What a config belongs to."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8


@dataclass(frozen=True, slots=True)
class ConfigResource:
    """A topic or broker, and configs of it: names to ask for, or values to set."""

    resource_type: ConfigResourceType | str
    name: str
    configs: Any = None

    @property
    def type_code(self) -> int:
        """The type as it goes over the wire."""
        if isinstance(self.resource_type, str):
            return int(ConfigResourceType[self.resource_type.upper()])
        return int(self.resource_type)


class AlterConfigOp(IntEnum):
    """What to do with one config."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigSource(IntEnum):
    """Where the value of a config comes from."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6


class ElectionType(IntEnum):
    """Which leader is wanted: the preferred one, or any that is alive even if it lost data."""

    PREFERRED = 0
    UNCLEAN = 1


class ScramMechanism(IntEnum):
    """How a password is stretched."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2


class OffsetSpec(IntEnum):
    """Which offset of a partition is asked for; a time in ms since 1970 does as well."""

    LATEST = -1
    EARLIEST = -2


class ResourceType(IntEnum):
    """What an ACL is about."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6


class ACLOperation(IntEnum):
    """What an ACL allows or denies."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


class ACLPermissionType(IntEnum):
    """Whether an ACL allows or denies."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class ACLResourcePatternType(IntEnum):
    """Whether an ACL names a resource or the beginning of its name."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


@dataclass(frozen=True, slots=True)
class ResourcePattern:
    """The resources that an ACL is about."""

    resource_type: ResourceType
    resource_name: str | None
    pattern_type: ACLResourcePatternType = ACLResourcePatternType.LITERAL


@dataclass(frozen=True, slots=True)
class ResourcePatternFilter(ResourcePattern):
    """The resources whose ACLs are asked for; None means any name."""


@dataclass(frozen=True, slots=True)
class ACLFilter:
    """The ACLs that are asked for; None means any."""

    principal: str | None
    host: str | None
    operation: ACLOperation
    permission_type: ACLPermissionType
    resource_pattern: ResourcePattern


@dataclass(frozen=True, slots=True)
class ACL(ACLFilter):
    """Who may, or may not, do what to what from where."""
