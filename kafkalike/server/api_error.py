"""ApiError: an error code with its words, where an answer has one for each thing asked about."""

from typing import NamedTuple, Self

from kafkalike.protocol.errors import ErrorCode, KafkaError


class ApiError(NamedTuple):
    """What became of one topic or resource of a request; without arguments: it went well."""

    code: ErrorCode = ErrorCode.NONE
    message: str | None = None

    @property
    def is_success(self) -> bool:
        """Whether there was no error."""
        return self.code is ErrorCode.NONE

    @classmethod
    def of(cls, error: KafkaError) -> Self:
        """Answer a `KafkaError`; what only repeats the code's meaning is left out, as in Kafka."""
        words = str(error.args[0]) if error.args else ""
        is_ours = error.code is ErrorCode.UNKNOWN_SERVER_ERROR
        return cls(error.code, None if is_ours or not words else words)


NO_ERROR = ApiError()
UNKNOWN_ERROR = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
TIMED_OUT = ApiError(ErrorCode.REQUEST_TIMED_OUT)
