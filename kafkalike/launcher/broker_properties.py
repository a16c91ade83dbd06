"""The server.properties of the brokers of a local cluster, decided without touching anything.

Kafka's defaults hold, but for one thing: the internal topics want three replicas, which a cluster
of one or two brokers cannot give, so there they get as many as there are brokers.
"""

import re
from collections.abc import Mapping
from typing import Final

from kafkalike.launcher.errors import ClusterError

HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 9092

_INTERNAL_REPLICATION_FACTOR: Final = 3  # Kafka's default
_PLACEHOLDER: Final = re.compile(r"\{(\w*)\}")


def broker_properties(
    settings: Mapping[str, str],
    *,
    broker_id: int,
    port: int,
    log_dir: str,
    zookeeper_connect: str,
    broker_count: int,
) -> dict[str, str]:
    """Return the properties of one broker; the user's settings win over ours."""
    properties = {
        "broker.id": str(broker_id),
        "listeners": f"PLAINTEXT://{HOST}:{port}",
        "log.dirs": log_dir,
        "zookeeper.connect": zookeeper_connect,
        **internal_topic_properties(broker_count),
    }
    for key, value in settings.items():
        properties[key] = fill_in(key, value, broker_id=broker_id, port=port)
    return properties


def internal_topic_properties(broker_count: int) -> dict[str, str]:
    """Lower the replication of the internal topics to what so many brokers can hold."""
    factor = min(_INTERNAL_REPLICATION_FACTOR, broker_count)
    if factor == _INTERNAL_REPLICATION_FACTOR:
        return {}
    return {
        "offsets.topic.replication.factor": str(factor),
        "transaction.state.log.replication.factor": str(factor),
        "transaction.state.log.min.isr": "1",
    }


def fill_in(key: str, value: str, *, broker_id: int, port: int) -> str:
    """Put the broker's own numbers for `{id}` and `{port}`."""
    numbers = {"id": broker_id, "port": port}

    def number(match: re.Match[str]) -> str:
        if match[1] not in numbers:
            raise ClusterError(
                f"{key}={value}: {match[0]} means nothing here; use {{id}} or {{port}}"
            )
        return str(numbers[match[1]])

    return _PLACEHOLDER.sub(number, value)
