import pytest
from twisted.logger import Logger, LogLevel

from tests.support.log_observer import FailureObserver

log = Logger()


def _log_a_failure() -> None:
    try:
        raise ValueError("boom")
    except ValueError:
        log.failure("it broke")


def test_expected_failure_is_taken_with_its_traceback(logged_failures: FailureObserver) -> None:
    _log_a_failure()
    (text,) = logged_failures.expect()
    assert "it broke" in text
    assert "ValueError: boom" in text


def test_unexpected_failure_fails_the_test() -> None:
    observer = FailureObserver()
    observer({"log_failure": None, "log_level": None})
    observer.assert_none()
    observer(
        {"log_failure": None, "log_level": LogLevel.critical, "log_format": "lost {n}", "n": 1}
    )
    with pytest.raises(AssertionError, match="lost 1"):
        observer.assert_none()
