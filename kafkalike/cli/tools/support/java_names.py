"""What Java calls our errors, and the sentences that it has for those without a message.

Scripts that read the output of Kafka's tools look for these, so the tools print them as well.
"""

from typing import Final

from kafkalike.cli.tools.support.errors import JavaError
from kafkalike.protocol.errors import ErrorCode, KafkaError, error_for

_PACKAGE: Final = "org.apache.kafka.common.errors."

_OTHER_NAMES: Final = {
    "RequestTimedOutError": "TimeoutException",
    "NetworkError": "DisconnectException",
    "BrokerGoneError": "TimeoutException",
}
_ELSEWHERE: Final = {
    "ConfigError": "org.apache.kafka.common.config.ConfigException",
}

# Only what a tool may have to say without a word from the broker.
_SENTENCES: Final = {
    ErrorCode.OFFSET_OUT_OF_RANGE: (
        "The requested offset is not within the range of offsets maintained by the server."
    ),
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    ErrorCode.UNKNOWN_TOPIC_ID: "This server does not host this topic ID.",
    ErrorCode.LEADER_NOT_AVAILABLE: (
        "There is no leader for this topic-partition as we are in the middle of a leadership"
        " election."
    ),
    ErrorCode.NOT_LEADER_OR_FOLLOWER: (
        "For requests intended only for the leader, this error indicates that the broker is not"
        " the current leader. For requests intended for any replica, this error indicates that the"
        " broker is not a replica of the topic partition."
    ),
    ErrorCode.REQUEST_TIMED_OUT: "The request timed out.",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    ErrorCode.INVALID_TOPIC_EXCEPTION: (
        "The request attempted to perform an operation on an invalid topic."
    ),
    ErrorCode.UNKNOWN_MEMBER_ID: "The coordinator is not aware of this member.",
    ErrorCode.NON_EMPTY_GROUP: "The group is not empty.",
    ErrorCode.GROUP_ID_NOT_FOUND: "The group id does not exist.",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: (
        "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed"
        " to it."
    ),
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.SECURITY_DISABLED: "Security features are disabled.",
    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS: "No partition reassignment is in progress.",
    ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED: "Delegation Token feature is not enabled.",
    ErrorCode.DELEGATION_TOKEN_NOT_FOUND: "Delegation Token is not found on server.",
    ErrorCode.DELEGATION_TOKEN_EXPIRED: "Delegation Token is expired.",
    ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH: ("Specified Principal is not valid Owner/Renewer."),
    ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: (
        "Delegation Token requests are not allowed on PLAINTEXT/1-way SSL channels and on"
        " delegation token authenticated channels."
    ),
    ErrorCode.RESOURCE_NOT_FOUND: (
        "A request illegally referred to a resource that does not exist."
    ),
    ErrorCode.LOG_DIR_NOT_FOUND: (
        "The user-specified log directory is not found in the broker config."
    ),
    ErrorCode.KAFKA_STORAGE_ERROR: ("Disk error when trying to access log file on the disk."),
}


def java_class(error: Exception) -> str:
    """Return the Java class of an error, with its package."""
    if isinstance(error, JavaError):
        return error.java_class
    if not isinstance(error, KafkaError):
        return f"java.lang.RuntimeException: {type(error).__name__}"
    name = type(error).__name__
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    return _PACKAGE + _OTHER_NAMES.get(name, name.removesuffix("Error") + "Exception")


def message_of(error: Exception) -> str:
    """Return the message of an error as Java has it: what the broker said, and no more."""
    if isinstance(error, KafkaError) and error.is_answer:
        return java_message(error.code, error.reason)
    return str(error)


def java_text(error: Exception) -> str:
    """Return what Java's `toString` of the error is: class and message."""
    return f"{java_class(error)}: {message_of(error)}"


def java_message(code: int, message: str | None) -> str:
    """Return what a broker said of an error code, or else Kafka's sentence for it."""
    if message is not None:
        return message
    return _SENTENCES.get(ErrorCode(code), str(error_for(code)()))


def to_error(code: int, message: str | None = None) -> KafkaError:
    """Return the error of a code, with the message that Java gives it."""
    return error_for(code)(java_message(code, message))


def check(code: int, message: str | None = None) -> None:
    """Raise the error of a code, if it is one."""
    if code != ErrorCode.NONE:
        raise to_error(code, message)
