"""Fetch: which partitions a client may read. Only the handler knows those of its session."""

from collections.abc import Iterable

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.messages.fetch import FetchPartition
from kafkalike.security.acl_operation import AclOperation
from kafkalike.security.resource import ResourceType
from kafkalike.server.authorization.authorization import Authorization

Requested = list[tuple[TopicPartition, FetchPartition]]


def split(
    authorization: Authorization,
    requested: Iterable[tuple[TopicPartition, FetchPartition]],
    *,
    is_follower: bool,
) -> tuple[Requested, list[TopicPartition]]:
    """Ask followers for CLUSTER_ACTION on the cluster, consumers for READ on each topic."""
    asked = list(requested)
    names = {tp.topic for tp, _ in asked}
    if not is_follower:
        allowed = authorization.allowed(AclOperation.READ, ResourceType.TOPIC, names)
    elif authorization.allows_cluster(AclOperation.CLUSTER_ACTION):
        allowed = names
    else:
        allowed = set()
    readable = [(tp, partition) for tp, partition in asked if tp.topic in allowed]
    return readable, [tp for tp, _ in asked if tp.topic not in allowed]
