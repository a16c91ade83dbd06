"""Errors with their words."""

from kafkalike.protocol.errors import ErrorCode, InvalidTopicError, UnknownServerError
from kafkalike.server.api_error import NO_ERROR, ApiError


def test_words_of_an_error_are_told() -> None:
    assert ApiError.of(InvalidTopicError("too long")) == (
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        "too long",
    )


def test_error_without_words_tells_only_its_code() -> None:
    assert ApiError.of(InvalidTopicError()).message is None


def test_words_of_an_unknown_error_stay_here() -> None:
    assert ApiError.of(UnknownServerError("a path, perhaps")).message is None


def test_success_is_an_error_too() -> None:
    assert NO_ERROR.is_success
    assert not ApiError(ErrorCode.INVALID_REQUEST).is_success
