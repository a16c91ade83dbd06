"""Operations that can be allowed or denied, and which of them each kind of resource knows."""

from collections.abc import Iterable
from enum import IntEnum
from typing import Final


class AclOperation(IntEnum):
    """Kafka's `AclOperation`, by the code that goes over the wire."""

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

    @classmethod
    def _missing_(cls, value: object) -> "AclOperation":
        return cls.UNKNOWN


_Op = AclOperation
TOPIC_OPERATIONS: Final = (
    _Op.READ,
    _Op.WRITE,
    _Op.CREATE,
    _Op.DELETE,
    _Op.ALTER,
    _Op.DESCRIBE,
    _Op.DESCRIBE_CONFIGS,
    _Op.ALTER_CONFIGS,
)
GROUP_OPERATIONS: Final = (_Op.READ, _Op.DELETE, _Op.DESCRIBE)
CLUSTER_OPERATIONS: Final = (
    _Op.CREATE,
    _Op.ALTER,
    _Op.DESCRIBE,
    _Op.CLUSTER_ACTION,
    _Op.DESCRIBE_CONFIGS,
    _Op.ALTER_CONFIGS,
    _Op.IDEMPOTENT_WRITE,
)


IMPLYING: Final = {
    _Op.DESCRIBE: (_Op.DESCRIBE, _Op.READ, _Op.WRITE, _Op.DELETE, _Op.ALTER),
    _Op.DESCRIBE_CONFIGS: (_Op.DESCRIBE_CONFIGS, _Op.ALTER_CONFIGS),
}
"""Operations that are allowed together with another one: who may read may describe."""


def operations_bit_field(operations: Iterable[AclOperation]) -> int:
    """Return the `authorized_operations` of Metadata and the Describe APIs: a bit per code."""
    return sum(1 << operation for operation in operations)
