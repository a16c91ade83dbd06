"""What is wrong with a configuration value (Kafka's `ConfigException`)."""

from typing import Any

from kafkalike.protocol.errors import InvalidConfigurationError


class ConfigError(InvalidConfigurationError):
    """A configuration value that is not valid."""


def invalid_value(name: str, value: Any, reason: str) -> ConfigError:
    """Build the error for one value, in Kafka's words."""
    shown = "null" if value is None else value
    return ConfigError(f"Invalid value {shown} for configuration {name}: {reason}")


def require(condition: bool, message: str) -> None:
    """Raise a `ConfigError` unless the condition holds (Scala prefixes the message like this)."""
    if not condition:
        raise ConfigError(f"requirement failed: {message}")
