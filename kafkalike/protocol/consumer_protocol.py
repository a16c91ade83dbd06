"""What the members of a consumer group tell each other through the coordinator.

Kafka's `ConsumerProtocol`: the subscription is the metadata of a member in JoinGroup, the
assignment is what it receives from SyncGroup. Both begin with their version. Newer versions only
add fields at the end, so a payload of a version we do not know is read as the latest we do.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final, TypeVar

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.messages import consumer_protocol
from kafkalike.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment as ConsumerProtocolAssignment,
)
from kafkalike.protocol.messages.consumer_protocol import (
    ConsumerProtocolSubscription as ConsumerProtocolSubscription,
)
from kafkalike.protocol.schema import Message
from kafkalike.protocol.versioned import VERSION_SIZE, encode_versioned, read_version

PROTOCOL_TYPE: Final = "consumer"

_M = TypeVar("_M", bound=Message)


def encode_subscription(
    topics: Iterable[str],
    *,
    user_data: bytes | None = None,
    owned_partitions: Iterable[TopicPartition] = (),
    version: int = ConsumerProtocolSubscription.max_version,
) -> bytes:
    """Return what a member sends when it joins: topics and, since version 1, what it owns now."""
    subscription = ConsumerProtocolSubscription(
        topics=sorted(topics),
        user_data=user_data,
        owned_partitions=_by_topic(owned_partitions),
    )
    return encode_versioned(subscription, version)


def decode_subscription(data: bytes) -> ConsumerProtocolSubscription:
    """Read the metadata of a member."""
    return _decode(ConsumerProtocolSubscription, data)


def decode_subscribed_topics(data: bytes) -> Sequence[str]:
    """Read only the topics of a member's metadata: what follows them differs by version.

    Some clients send a newer version without its fields, which matters to nobody but their leader.
    """
    read_version(data)
    subscription, _ = ConsumerProtocolSubscription.decode_prefix(data, 0, VERSION_SIZE)
    return subscription.topics


def encode_assignment(
    partitions: Iterable[TopicPartition],
    *,
    user_data: bytes | None = None,
    version: int = ConsumerProtocolAssignment.max_version,
) -> bytes:
    """Return what the leader of the group assigns to a member."""
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=_by_topic(partitions), user_data=user_data
    )
    return encode_versioned(assignment, version)


def decode_assignment(data: bytes) -> ConsumerProtocolAssignment:
    """Read what a member was assigned."""
    return _decode(ConsumerProtocolAssignment, data)


def _by_topic(partitions: Iterable[TopicPartition]) -> list[consumer_protocol.TopicPartition]:
    return [
        consumer_protocol.TopicPartition(topic=topic, partitions=[tp.partition for tp in group])
        for topic, group in groupby(sorted(partitions), key=lambda tp: tp.topic)
    ]


def _decode(cls: type[_M], data: bytes) -> _M:
    version = read_version(data)
    if version < cls.min_version:
        raise ProtocolError(f"{cls.__name__} has no version {version}")
    message, _ = cls.decode_prefix(data, min(version, cls.max_version), VERSION_SIZE)
    return message
