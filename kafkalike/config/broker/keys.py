"""All keys of a broker together, and what follows from several of them.

Part of Kafka's `KafkaConfig`: fall-backs such as `log.retention.ms`, `.minutes`, `.hours`.
"""

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, Self

from kafkalike.config.api_version import ApiVersion, api_version
from kafkalike.config.broker.coordinator import CoordinatorKeys
from kafkalike.config.broker.general import GeneralKeys
from kafkalike.config.broker.kraft import KRaftKeys
from kafkalike.config.broker.log import LogKeys
from kafkalike.config.broker.log_cleaner import LogCleanerKeys
from kafkalike.config.broker.network import NetworkKeys
from kafkalike.config.broker.own import OwnKeys
from kafkalike.config.broker.quota import QuotaKeys
from kafkalike.config.broker.replication import ReplicationKeys
from kafkalike.config.broker.sasl import SaslKeys
from kafkalike.config.broker.security import SecurityKeys
from kafkalike.config.broker.tls import TlsKeys
from kafkalike.config.broker.zookeeper import ZookeeperKeys
from kafkalike.config.listeners import LISTENER_PREFIX, parse_csv
from kafkalike.config.value_types import Password

_MS_PER_MINUTE: Final = 60 * 1000
_MS_PER_HOUR: Final = 60 * _MS_PER_MINUTE
# Kafka hands unknown keys to plug-ins; these are read by the authorizer.
_AUTHORIZER_KEYS: Final = frozenset({"super.users", "allow.everyone.if.no.acl.found"})


class BrokerKeys(
    OwnKeys,
    QuotaKeys,
    SecurityKeys,
    SaslKeys,
    TlsKeys,
    CoordinatorKeys,
    ReplicationKeys,
    LogCleanerKeys,
    LogKeys,
    NetworkKeys,
    KRaftKeys,
    GeneralKeys,
    ZookeeperKeys,
):
    """All keys of a broker. `originals` are the properties as they were given."""

    originals: Mapping[str, str]

    def __init__(self, *, originals: Mapping[str, str] | None = None, **values: Any) -> None:
        super().__init__(**values)
        self.__dict__["originals"] = MappingProxyType(dict(originals or {}))

    def replace(self, **values: Any) -> Self:
        """Return an unchecked copy with other values for some attributes."""
        return super().replace(**{"originals": self.originals, **values})

    @property
    def unused_keys(self) -> tuple[str, ...]:
        """Properties that name no key, sorted."""
        return tuple(
            name
            for name in sorted(self.originals)
            if name not in self.KEYS
            and name not in _AUTHORIZER_KEYS
            and not name.startswith((LISTENER_PREFIX, "authorizer."))
        )

    @property
    def effective_broker_id(self) -> int:
        """The id that is set, by `node.id` or `broker.id`; -1 means that one must be generated."""
        return self.node_id if self.node_id >= 0 else self.broker_id

    @cached_property
    def log_directories(self) -> tuple[str, ...]:
        """The directories of `log.dirs`, or else of `log.dir`."""
        return parse_csv(self.log_dir if self.log_dirs is None else self.log_dirs)

    @property
    def log_retention_time_ms(self) -> int:
        """How long logs are kept, -1 for ever: from the ms, minutes or hours key, in this order."""
        if self.log_retention_ms is not None:
            retention_ms = self.log_retention_ms
        elif self.log_retention_minutes is not None:
            retention_ms = self.log_retention_minutes * _MS_PER_MINUTE
        else:
            retention_ms = self.log_retention_hours * _MS_PER_HOUR
        return max(retention_ms, -1)

    @property
    def log_roll_time_ms(self) -> int:
        """After how long a segment is rolled: from the ms or hours key."""
        return self.log_roll_hours * _MS_PER_HOUR if self.log_roll_ms is None else self.log_roll_ms

    @property
    def log_roll_time_jitter_ms(self) -> int:
        """How much earlier a segment may be rolled: from the ms or hours key."""
        if self.log_roll_jitter_ms is None:
            return self.log_roll_jitter_hours * _MS_PER_HOUR
        return self.log_roll_jitter_ms

    @property
    def log_flush_time_ms(self) -> int:
        """After how long a message is flushed: the interval, or else that of the scheduler."""
        if self.log_flush_interval_ms is None:
            return self.log_flush_scheduler_interval_ms
        return self.log_flush_interval_ms

    @property
    def zookeeper_connection_time_ms(self) -> int:
        """How long to wait for ZooKeeper at start: the connection or else the session timeout."""
        if self.zookeeper_connection_timeout_ms is None:
            return self.zookeeper_session_timeout_ms
        return self.zookeeper_connection_timeout_ms

    @property
    def delegation_token_key(self) -> Password | None:
        """The secret for delegation tokens, by its new or its deprecated key; None if not set."""
        secret = self.delegation_token_secret_key or self.delegation_token_master_key
        return secret if secret is not None and secret.value else None

    @cached_property
    def inter_broker_api_version(self) -> ApiVersion:
        """`inter.broker.protocol.version` as a version that compares."""
        return api_version(self.inter_broker_protocol_version)
