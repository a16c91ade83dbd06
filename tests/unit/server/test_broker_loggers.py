"""Loggers and their levels."""

import pytest
from twisted.logger import Logger, LogLevel, PredicateResult

from kafkalike.config.errors import ConfigError
from kafkalike.server.broker_loggers import BrokerLoggers, namespaces_in_use

log = Logger()


def _loggers() -> BrokerLoggers:
    return BrokerLoggers(lambda: ["kafkalike.log.log", "kafkalike.server.x", "state.change"])


def _is_logged(loggers: BrokerLoggers, namespace: str, level: object) -> bool:
    event = {"log_namespace": namespace, "log_level": level}
    return loggers.predicate(event) is not PredicateResult.no


def test_our_loggers_have_the_level_of_root() -> None:
    levels = _loggers().levels()
    assert (
        levels.items()
        >= {
            "kafkalike.log.log": "INFO",
            "kafkalike.server.x": "INFO",
            "root": "INFO",
            "state.change": "INFO",
        }.items()
    )
    assert levels["twisted"] == "WARN"


def test_level_holds_for_what_is_below() -> None:
    loggers = _loggers()
    loggers.set_level("kafkalike.log", "DEBUG")
    assert loggers.levels()["kafkalike.log.log"] == "DEBUG"
    assert _is_logged(loggers, "kafkalike.log.log", LogLevel.debug)
    assert not _is_logged(loggers, "kafkalike.server.x", LogLevel.debug)


def test_level_that_is_unset_is_inherited_again() -> None:
    loggers = _loggers()
    loggers.set_level("state.change", "ERROR")
    assert not _is_logged(loggers, "state.change", LogLevel.warn)
    loggers.unset_level("state.change")
    assert loggers.levels()["state.change"] == "INFO"
    assert _is_logged(loggers, "state.change", LogLevel.warn)


def test_root_changes_all_without_a_level_of_their_own() -> None:
    loggers = _loggers()
    loggers.set_level("state.change", "DEBUG")
    loggers.set_level("root", "FATAL")
    assert not _is_logged(loggers, "kafkalike.log.log", LogLevel.error)
    assert _is_logged(loggers, "state.change", LogLevel.debug)


def test_logger_and_level_are_checked() -> None:
    loggers = _loggers()
    loggers.check_exists("root")
    loggers.check_level("root", "TRACE")
    with pytest.raises(ConfigError, match=r"Logger nope does not exist!"):
        loggers.check_exists("nope")
    with pytest.raises(ConfigError, match="as it is not a supported log level"):
        loggers.check_level("root", "debug")


def test_loggers_of_imported_modules_are_found() -> None:
    assert log.namespace in list(namespaces_in_use())
