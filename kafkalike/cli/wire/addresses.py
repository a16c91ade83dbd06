"""Answers that tell clients where brokers are, changed to lead them through the tap."""

from collections.abc import Callable
from typing import Any

from kafkalike.protocol.messages.describe_cluster import DescribeClusterResponse
from kafkalike.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafkalike.protocol.messages.metadata import MetadataResponse
from kafkalike.protocol.schema import Message

Address = tuple[str, int]


def redirect(message: Message, through: Callable[[Address], Address]) -> bool:
    """Put the tap's address for each broker's into the message; whether it had any."""
    places = _places(message)
    for place in places:
        place.host, place.port = through((place.host, place.port))
    return bool(places)


def _places(message: Message) -> list[Any]:  # each has a host and a port
    if isinstance(message, MetadataResponse | DescribeClusterResponse):
        return list(message.brokers)
    if isinstance(message, FindCoordinatorResponse) and message.host:
        return [message]
    return []
