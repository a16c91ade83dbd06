"""The loggers of this broker and their levels, as the resource BROKER_LOGGER (KIP-412).

Loggers are twisted.logger namespaces. A level set for one holds for those below it. The predicate
belongs into the filter of whoever writes the log.
"""

import sys
from collections.abc import Callable, Iterable
from typing import Final

from twisted.logger import Logger, LogLevel, LogLevelFilterPredicate

from kafkalike.config.errors import ConfigError

ROOT_LOGGER: Final = "root"
_LEVELS: Final = {
    "TRACE": LogLevel.debug,
    "ERROR": LogLevel.error,
    "INFO": LogLevel.info,
    "FATAL": LogLevel.critical,
    "DEBUG": LogLevel.debug,
    "WARN": LogLevel.warn,
}


def namespaces_in_use() -> Iterable[str]:
    """Find the namespaces of all modules that log."""
    found = set()
    for module in list(sys.modules.values()):
        logger = vars(module).get("log") if module is not None else None
        if isinstance(logger, Logger):
            found.add(logger.namespace)
    return sorted(found)


class BrokerLoggers:
    """Log levels by namespace; changes hold until the broker stops."""

    def __init__(self, namespaces: Callable[[], Iterable[str]] = namespaces_in_use) -> None:
        self.predicate = LogLevelFilterPredicate(defaultLogLevel=LogLevel.info)
        self._namespaces = namespaces
        # Twisted's own tales (a factory starts, the main loop ends) tell a Kafka user nothing.
        self._levels = {ROOT_LOGGER: "INFO", "twisted": "WARN", "log_legacy": "WARN"}
        self._apply()

    def levels(self) -> dict[str, str]:
        """Give every logger's level, its own or inherited."""
        names = {ROOT_LOGGER, *self._namespaces(), *self._levels}
        return {name: self._level(name) for name in sorted(names)}

    def check_exists(self, name: str) -> None:
        """Refuse a logger that is not there."""
        if name not in self.levels():
            raise ConfigError(f"Logger {name} does not exist!")

    def check_level(self, name: str, level: str) -> None:
        """Refuse a level that is none."""
        if level not in _LEVELS:
            raise ConfigError(
                f"Cannot set the log level of {name} to {level} as it is not a supported log level."
                f" Valid log levels are {', '.join(_LEVELS)}"
            )

    def set_level(self, name: str, level: str) -> None:
        """Give a logger a level of its own."""
        self._levels[name] = level
        self._apply()

    def unset_level(self, name: str) -> None:
        """Let a logger inherit its level again."""
        self._levels.pop(name, None)
        self._apply()

    def _level(self, name: str) -> str:
        while name not in self._levels:
            parent, dot, _ = name.rpartition(".")
            name = parent if dot else ROOT_LOGGER
        return self._levels[name]

    def _apply(self) -> None:
        self.predicate.defaultLogLevel = _LEVELS[self._levels[ROOT_LOGGER]]
        self.predicate.clearLogLevels()
        for name, level in self._levels.items():
            if name != ROOT_LOGGER:
                self.predicate.setLogLevelForNamespace(name, _LEVELS[level])
