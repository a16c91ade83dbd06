"""The error codes that older producers understand."""

from kafkalike.protocol.errors import ErrorCode, KafkaError


def code_for_producer(error: KafkaError, version: int, first_version_with_fenced: int) -> ErrorCode:
    """Return the code of an error; producers before 2.7 do not know PRODUCER_FENCED (KIP-588)."""
    if error.code is ErrorCode.PRODUCER_FENCED and version < first_version_with_fenced:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error.code
