"""The APIs of a ZooKeeper-mode Kafka 2.8.2 broker: numbers, versions, message classes."""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from importlib import import_module
from typing import Final

from kafkalike.protocol.schema import Message


class ApiKey(IntEnum):
    """Kafka's `ApiKeys`, without those of KRaft mode."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    ALTER_ISR = 56
    UPDATE_FEATURES = 57
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61

    @property
    def api_name(self) -> str:
        """The name in Kafka's documentation, metrics and messages, like `ListOffsets`."""
        return "".join(word.capitalize() for word in self.name.split("_"))

    @property
    def min_version(self) -> int:
        """The earliest version: 2.8 still has the first of every API."""
        return 0

    @property
    def max_version(self) -> int:
        """The latest version."""
        return _VERSIONS[self][0]

    @property
    def versions(self) -> range:
        """All versions."""
        return range(self.max_version + 1)

    @property
    def flexible_from(self) -> int | None:
        """The first version that has compact lengths and tagged fields (KIP-482)."""
        return _VERSIONS[self][1]

    @property
    def is_cluster_action(self) -> bool:
        """Whether only brokers send it, to each other."""
        return self in _CLUSTER_ACTIONS


_CLUSTER_ACTIONS: Final = frozenset(
    {
        ApiKey.LEADER_AND_ISR,
        ApiKey.STOP_REPLICA,
        ApiKey.UPDATE_METADATA,
        ApiKey.CONTROLLED_SHUTDOWN,
        ApiKey.WRITE_TXN_MARKERS,
        ApiKey.ALTER_ISR,
    }
)

# Latest version and first flexible version. The tables have them too but are imported later.
_VERSIONS: Final[dict[ApiKey, tuple[int, int | None]]] = {
    ApiKey.PRODUCE: (9, 9),
    ApiKey.FETCH: (12, 12),
    ApiKey.LIST_OFFSETS: (6, 6),
    ApiKey.METADATA: (11, 9),
    ApiKey.LEADER_AND_ISR: (5, 4),
    ApiKey.STOP_REPLICA: (3, 2),
    ApiKey.UPDATE_METADATA: (7, 6),
    ApiKey.CONTROLLED_SHUTDOWN: (3, 3),
    ApiKey.OFFSET_COMMIT: (8, 8),
    ApiKey.OFFSET_FETCH: (7, 6),
    ApiKey.FIND_COORDINATOR: (3, 3),
    ApiKey.JOIN_GROUP: (7, 6),
    ApiKey.HEARTBEAT: (4, 4),
    ApiKey.LEAVE_GROUP: (4, 4),
    ApiKey.SYNC_GROUP: (5, 4),
    ApiKey.DESCRIBE_GROUPS: (5, 5),
    ApiKey.LIST_GROUPS: (4, 3),
    ApiKey.SASL_HANDSHAKE: (1, None),
    ApiKey.API_VERSIONS: (3, 3),
    ApiKey.CREATE_TOPICS: (7, 5),
    ApiKey.DELETE_TOPICS: (6, 4),
    ApiKey.DELETE_RECORDS: (2, 2),
    ApiKey.INIT_PRODUCER_ID: (4, 2),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (4, 4),
    ApiKey.ADD_PARTITIONS_TO_TXN: (3, 3),
    ApiKey.ADD_OFFSETS_TO_TXN: (3, 3),
    ApiKey.END_TXN: (3, 3),
    ApiKey.WRITE_TXN_MARKERS: (1, 1),
    ApiKey.TXN_OFFSET_COMMIT: (3, 3),
    ApiKey.DESCRIBE_ACLS: (2, 2),
    ApiKey.CREATE_ACLS: (2, 2),
    ApiKey.DELETE_ACLS: (2, 2),
    ApiKey.DESCRIBE_CONFIGS: (4, 4),
    ApiKey.ALTER_CONFIGS: (2, 2),
    ApiKey.ALTER_REPLICA_LOG_DIRS: (2, 2),
    ApiKey.DESCRIBE_LOG_DIRS: (2, 2),
    ApiKey.SASL_AUTHENTICATE: (2, 2),
    ApiKey.CREATE_PARTITIONS: (3, 2),
    ApiKey.CREATE_DELEGATION_TOKEN: (2, 2),
    ApiKey.RENEW_DELEGATION_TOKEN: (2, 2),
    ApiKey.EXPIRE_DELEGATION_TOKEN: (2, 2),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: (2, 2),
    ApiKey.DELETE_GROUPS: (2, 2),
    ApiKey.ELECT_LEADERS: (2, 2),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (1, 1),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (0, 0),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (0, 0),
    ApiKey.OFFSET_DELETE: (0, None),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: (1, 1),
    ApiKey.ALTER_CLIENT_QUOTAS: (1, 1),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (0, 0),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (0, 0),
    ApiKey.ALTER_ISR: (0, 0),
    ApiKey.UPDATE_FEATURES: (0, 0),
    ApiKey.DESCRIBE_CLUSTER: (0, 0),
    ApiKey.DESCRIBE_PRODUCERS: (0, 0),
}


@cache
def request_class(key: int) -> type[Message]:
    """Return the class of an API's request; its module is imported now if it was not yet."""
    return _message_class(ApiKey(key), "Request")


@cache
def response_class(key: int) -> type[Message]:
    """Return the class of an API's response."""
    return _message_class(ApiKey(key), "Response")


def _message_class(key: ApiKey, kind: str) -> type[Message]:
    module = import_module(f"kafkalike.protocol.messages.{key.name.lower()}")
    message_class: type[Message] = getattr(module, key.api_name + kind)
    return message_class
