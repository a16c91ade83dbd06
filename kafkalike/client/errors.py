"""The errors of clients, under the names of kafka-python's `kafka.errors` where those differ.

Every error of the protocol is here too, whether it is named below or not.
"""

from typing import Any

from kafkalike.client.config import ConfigError
from kafkalike.client.consumer.offset_store import CommitFailedError
from kafkalike.client.consumer.positions import NoOffsetForPartitionError
from kafkalike.client.consumer.subscription_state import IllegalStateError
from kafkalike.client.producer.record_accumulator import ProducerClosedError
from kafkalike.client.serializers import SerializationError
from kafkalike.network.tls_failure import SslAuthenticationError
from kafkalike.protocol import errors
from kafkalike.protocol.errors import (
    GroupAuthorizationError,
    IllegalGenerationError,
    KafkaError,
    NetworkError,
    NotLeaderOrFollowerError,
    OffsetOutOfRangeError,
    ProducerFencedError,
    RebalanceInProgressError,
    RecordTooLargeError,
    RequestTimedOutError,
    SaslAuthenticationError,
    TopicAuthorizationError,
    TopicExistsError,
    UnknownMemberIdError,
    UnknownTopicOrPartitionError,
    UnsupportedSaslMechanismError,
    UnsupportedVersionError,
)

KafkaTimeoutError = RequestTimedOutError
NoBrokersAvailable = NetworkError
KafkaConnectionError = NetworkError
TopicAlreadyExistsError = TopicExistsError
MessageSizeTooLargeError = RecordTooLargeError
TopicAuthorizationFailedError = TopicAuthorizationError
GroupAuthorizationFailedError = GroupAuthorizationError
NotLeaderForPartitionError = NotLeaderOrFollowerError
IncompatibleBrokerVersion = UnsupportedVersionError
KafkaConfigurationError = ConfigError
SaslAuthenticationFailedError = SaslAuthenticationError
InvalidTopicError = errors.InvalidTopicError


def __getattr__(name: str) -> Any:
    """Find an error that a broker may answer with."""
    found = getattr(errors, name, None)
    if isinstance(found, type) and issubclass(found, KafkaError):
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "CommitFailedError",
    "ConfigError",
    "GroupAuthorizationError",
    "GroupAuthorizationFailedError",
    "IllegalGenerationError",
    "IllegalStateError",
    "IncompatibleBrokerVersion",
    "InvalidTopicError",
    "KafkaConfigurationError",
    "KafkaConnectionError",
    "KafkaError",
    "KafkaTimeoutError",
    "MessageSizeTooLargeError",
    "NetworkError",
    "NoBrokersAvailable",
    "NoOffsetForPartitionError",
    "NotLeaderForPartitionError",
    "OffsetOutOfRangeError",
    "ProducerClosedError",
    "ProducerFencedError",
    "RebalanceInProgressError",
    "RecordTooLargeError",
    "RequestTimedOutError",
    "SaslAuthenticationError",
    "SaslAuthenticationFailedError",
    "SerializationError",
    "SslAuthenticationError",
    "TopicAlreadyExistsError",
    "TopicAuthorizationError",
    "TopicAuthorizationFailedError",
    "TopicExistsError",
    "UnknownMemberIdError",
    "UnknownTopicOrPartitionError",
    "UnsupportedSaslMechanismError",
    "UnsupportedVersionError",
]
