"""Which broker configurations may change at run time, by whom, and which of several counts.

The decisions of Kafka's `DynamicBrokerConfig`: pure functions over properties. Precedence: those of
this broker (`/config/brokers/<id>`), those of all (`/config/brokers/<default>`), server.properties,
defaults.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.checks import at_least
from kafkalike.config.definition import (
    LONG,
    MAX_LONG,
    PASSWORD,
    PER_BROKER,
    READ_ONLY,
    Config,
    ConfigKey,
    key,
)
from kafkalike.config.errors import ConfigError


class ReplicationQuotaKeys(Config):
    """Keys that no properties file has: they are only set dynamically, for one broker."""

    leader_replication_throttled_rate: int = key(
        "leader.replication.throttled.rate",
        MAX_LONG,
        "Bytes per second sent for throttled replicas that this broker leads.",
        type=LONG,
        check=at_least(0),
    )
    follower_replication_throttled_rate: int = key(
        "follower.replication.throttled.rate",
        MAX_LONG,
        "Bytes per second fetched for throttled replicas that this broker follows.",
        type=LONG,
        check=at_least(0),
    )
    replica_alter_log_dirs_io_max_bytes_per_second: int = key(
        "replica.alter.log.dirs.io.max.bytes.per.second",
        MAX_LONG,
        "Bytes per second copied when replicas move between the log directories of this broker.",
        type=LONG,
        check=at_least(0),
    )


_SSL_STORES: Final = frozenset(
    {
        "ssl.keystore.type",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.key.password",
        "ssl.truststore.type",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.truststore.certificates",
    }
)
"""Security keys that change at run time, but only for a listener."""
_CLUSTER_WIDE_OF_LISTENERS: Final = frozenset({"max.connections", "max.connection.creation.rate"})
_OF_LISTENER_AND_MECHANISM: Final = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)
_LISTENER: Final = re.compile(r"listener\.name\.[^.]*\.(.*)")
_SYNONYMS: Final = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_SYNONYMS_OF: Final = {name: names for names in _SYNONYMS for name in names} | {
    "log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
}
_DYNAMIC: Final[Mapping[str, ConfigKey]] = {
    name: key for name, key in BrokerConfig.KEYS.items() if key.dynamic is not READ_ONLY
} | dict(ReplicationQuotaKeys.KEYS)
_DYNAMIC_PASSWORDS: Final = tuple(
    name for name, declared in _DYNAMIC.items() if declared.type == PASSWORD
)


def broker_config_synonyms(name: str, *, match_listener_override: bool) -> tuple[str, ...]:
    """List the keys that can give a key its value, in order of precedence."""
    if name in _SYNONYMS_OF:
        return _SYNONYMS_OF[name]
    if match_listener_override and (match := _LISTENER.fullmatch(name)):
        base = match[1]
        mechanism = next((key for key in _OF_LISTENER_AND_MECHANISM if base.endswith(key)), base)
        return (name, mechanism)
    return (name,)


def declaration(name: str) -> ConfigKey | None:
    """Find the declaration of a key, also behind the prefix of a listener."""
    exact = BrokerConfig.KEYS.get(name) or ReplicationQuotaKeys.KEYS.get(name)
    if exact is not None:
        return exact
    synonyms = broker_config_synonyms(name, match_listener_override=True)
    return next((BrokerConfig.KEYS[s] for s in synonyms if s in BrokerConfig.KEYS), None)


def is_read_only(name: str) -> bool:
    """Whether DescribeConfigs calls a broker key read-only."""
    return name not in _DYNAMIC or name in ReplicationQuotaKeys.KEYS


def is_changeable_for_listener(base_name: str) -> bool:
    """Whether a key of a listener can change while the listener stays."""
    return base_name in _SSL_STORES or base_name in _CLUSTER_WIDE_OF_LISTENERS


def is_password(name: str) -> bool:
    """Whether a value is a secret, which ZooKeeper must only see encrypted."""
    return name.endswith(_DYNAMIC_PASSWORDS)


def validate_dynamic_configs(properties: Mapping[str, str], *, per_broker: bool) -> None:
    """Raise a `ConfigError` if these cannot be set dynamically, for one broker or for all."""
    _refuse(_non_dynamic(properties), "Cannot update these configs dynamically")
    _refuse(
        _stores_without_listener(properties),
        "These security configs can be dynamically updated only per-listener using the listener "
        "prefix",
        "HashSet",
    )
    _check_types(properties)
    if not per_broker:
        _refuse(
            _per_broker(properties),
            "Cannot update these configs at default cluster level, broker id must be specified",
        )


def usable_configs(
    properties: Mapping[str, str], *, per_broker: bool
) -> tuple[dict[str, str], list[str]]:
    """Give what of a znode's properties holds, and sentences about the rest.

    ZooKeeper may have anything: one bad value must not keep a broker from starting.
    """
    usable = dict(properties)
    refused = {
        "Dynamic configs with invalid values": _invalid(usable),
        "Non-dynamic configs configured in ZooKeeper": _non_dynamic(usable),
        "Security configs without the prefix of a listener": _stores_without_listener(usable),
        "Per-broker configs defined at default cluster level": (
            [] if per_broker else _per_broker(usable)
        ),
    }
    complaints = []
    for what, names in refused.items():
        if names:
            complaints.append(f"{what} will be ignored: {', '.join(names)}")
            for name in names:
                usable.pop(name, None)
    return usable, complaints


def override(properties: Mapping[str, str], overrides: Mapping[str, str]) -> dict[str, str]:
    """Lay overrides over properties.

    A key pushes its synonyms out: a dynamic `log.roll.hours` wins over a static `log.roll.ms`, even
    though among values of one source the latter would win.
    """
    result = dict(properties)
    for name, value in overrides.items():
        for synonym in broker_config_synonyms(name, match_listener_override=False):
            result.pop(synonym, None)
        result[name] = value
    return result


def _refuse(names: list[str], sentence: str, set_name: str = "Set") -> None:
    if names:
        raise ConfigError(f"{sentence}: {set_name}({', '.join(names)})")


def _non_dynamic(names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name in BrokerConfig.KEYS and name not in _DYNAMIC)


def _stores_without_listener(names: Iterable[str]) -> list[str]:
    return sorted(_SSL_STORES.intersection(names))


def _per_broker(names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if _is_per_broker(name))


def _is_per_broker(name: str) -> bool:
    if match := _LISTENER.fullmatch(name):
        return match[1] not in _CLUSTER_WIDE_OF_LISTENERS
    return name in _DYNAMIC and _DYNAMIC[name].dynamic is PER_BROKER


def _invalid(properties: Mapping[str, str]) -> list[str]:
    invalid = []
    for name, value in properties.items():
        try:
            _check_types({name: value})
        except ConfigError:
            invalid.append(name)
    return invalid


def _check_types(properties: Mapping[str, str]) -> None:
    for name, value in properties.items():
        match = _LISTENER.fullmatch(name)
        declared = _DYNAMIC.get(match[1] if match else name)
        if declared is not None:
            declared.parse(value)
