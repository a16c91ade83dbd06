"""Whether a running broker can go from one configuration to another (Kafka's Reconfigurables).

Each part of the broker has its say: thread counts must not jump, and listeners that stay must not
change their nature.
"""

from collections.abc import Mapping
from typing import Final

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.errors import ConfigError
from kafkalike.config.listeners import listener_prefix
from kafkalike.model.broker import EndPoint
from kafkalike.server.dynamic_broker_config import is_changeable_for_listener
from kafkalike.server.listeners import check_tls

_THREAD_COUNTS: Final = (
    "num.io.threads",
    "num.network.threads",
    "num.replica.fetchers",
    "num.recovery.threads.per.data.dir",
    "background.threads",
)


def check_reconfiguration(old: BrokerConfig, new: BrokerConfig) -> None:
    """Raise a `ConfigError` if the broker cannot take over the new values while it runs."""
    try:
        _check_thread_counts(old, new)
        _check_cleaner_threads(old.log_cleaner_threads, new.log_cleaner_threads)
        _check_listeners(old, new)
        check_tls(old, new)
        _check_reporters(old, new)
    except ConfigError as error:
        # Kafka hands the cause to a constructor that takes it for a value; tools show this text.
        raise ConfigError(
            f"Invalid value org.apache.kafka.common.config.ConfigException: {error.message} "
            "for configuration Invalid dynamic configuration"
        ) from error


def _check_thread_counts(old: BrokerConfig, new: BrokerConfig) -> None:
    for name in _THREAD_COUNTS:
        before, after = old.value(name), new.value(name)
        failed = f"Dynamic thread count update validation failed for {name}={after}"
        if after <= 0:
            raise ConfigError(f"{failed}, value should be at least 1")
        if after < before // 2:
            raise ConfigError(f"{failed}, value should be at least half the current value {before}")
        if after > before * 2:
            raise ConfigError(
                f"{failed}, value should not be greater than double the current value {before}"
            )


def _check_cleaner_threads(before: int, after: int) -> None:
    if after < 1:
        raise ConfigError("Log cleaner threads should be at least 1")
    if after < before // 2:
        raise ConfigError(
            f"Log cleaner threads cannot be reduced to less than half the current value {before}"
        )
    if after > before * 2:
        raise ConfigError(
            "Log cleaner threads cannot be increased to more than double the current value "
            f"{before}"
        )


def _check_listeners(old: BrokerConfig, new: BrokerConfig) -> None:
    before, after = _by_name(old.listener_end_points), _by_name(new.listener_end_points)
    for name in before.keys() & after.keys():
        if _fixed_keys(old, name) != _fixed_keys(new, name):
            raise ConfigError(
                f"Configs cannot be updated dynamically for existing listener ListenerName({name}),"
                " restart broker or create a new listener for update"
            )
        if before[name].security_protocol != after[name].security_protocol:
            raise ConfigError(
                f"Security protocol cannot be updated for existing listener ListenerName({name})"
            )


def _check_reporters(old: BrokerConfig, new: BrokerConfig) -> None:
    # Reporters are Java classes, of which this broker can load none.
    if set(new.metric_reporters) - set(old.metric_reporters):
        raise ConfigError(
            "Validation of dynamic config update of Set(metric.reporters) failed with class class "
            "kafka.server.DynamicMetricsReporters"
        )


def _by_name(end_points: tuple[EndPoint, ...]) -> Mapping[str, EndPoint]:
    return {end_point.listener_name: end_point for end_point in end_points}


def _fixed_keys(config: BrokerConfig, listener_name: str) -> dict[str, str]:
    prefix = listener_prefix(listener_name)
    return {
        name: value
        for name, value in config.originals.items()
        if name.startswith(prefix) and not is_changeable_for_listener(name.removeprefix(prefix))
    }
