"""Brokers as the cluster sees them: end points per listener, rack, epoch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class EndPoint(NamedTuple):
    """One listener of a broker: where it is reached, and how it is secured."""

    host: str
    port: int
    listener_name: str
    security_protocol: str

    @property
    def connection_string(self) -> str:
        """The form of `listeners` and of the registration znode: `PLAINTEXT://host:9092`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.listener_name}://{host}:{self.port}"


class Node(NamedTuple):
    """A broker as one listener's clients see it."""

    id: int
    host: str
    port: int
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class Broker:
    """A registered broker."""

    id: int
    end_points: tuple[EndPoint, ...]
    rack: str | None = None
    features: Mapping[str, tuple[int, int]] = field(default_factory=dict, hash=False)

    def node(self, listener_name: str) -> Node | None:
        """Where clients of this listener reach the broker, if it has that listener."""
        for end_point in self.end_points:
            if end_point.listener_name == listener_name:
                return Node(self.id, end_point.host, end_point.port, self.rack)
        return None
