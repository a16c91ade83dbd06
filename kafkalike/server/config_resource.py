"""ConfigResource: what has a configuration that can be described and altered."""

from enum import IntEnum
from typing import NamedTuple

from kafkalike.protocol.errors import InvalidRequestError


class ResourceType(IntEnum):
    """The kinds of resource, with their numbers on the wire; others are UNKNOWN."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8

    @classmethod
    def _missing_(cls, value: object) -> "ResourceType":
        return cls.UNKNOWN


class ConfigSource(IntEnum):
    """Where a value comes from, with its number on the wire."""

    TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6


class ConfigResource(NamedTuple):
    """A topic, a broker (or with an empty name all brokers), or the loggers of a broker."""

    type: ResourceType
    name: str

    def __str__(self) -> str:
        return f"ConfigResource(type={self.type.name}, name='{self.name}')"


def broker_id_of(resource_name: str) -> int:
    """Read the name of a broker resource."""
    try:
        return int(resource_name)
    except ValueError:
        raise InvalidRequestError(
            f"Broker id must be an integer, but it is: {resource_name}"
        ) from None
