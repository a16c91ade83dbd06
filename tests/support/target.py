"""A broker under test, ours or Apache Kafka 2.8.2: both are asked the same questions."""

import itertools
from typing import NamedTuple

from kafkalike.client.simple_client import SimpleClient

KAFKALIKE = "kafkalike"
APACHE_KAFKA = "apache-kafka"

_numbers = itertools.count(1)


class Target(NamedTuple):
    """One running broker."""

    name: str
    port: int

    @property
    def bootstrap_servers(self) -> str:
        """Its address, as clients want it."""
        return f"127.0.0.1:{self.port}"

    def connect(self, *, timeout_s: float = 30.0, client_id: str | None = "test") -> SimpleClient:
        """Open a connection that sends any request in any version."""
        return SimpleClient("127.0.0.1", self.port, client_id=client_id, timeout_s=timeout_s)


def unique_topic(prefix: str) -> str:
    """Return a topic name that no other test of this run has."""
    return f"{prefix}-{next(_numbers)}"
