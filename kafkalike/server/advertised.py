"""What this broker tells ZooKeeper about where it can be reached."""

import socket

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.model.broker import Broker, EndPoint


def advertised_broker(broker_id: int, config: BrokerConfig, bound: dict[str, int]) -> Broker:
    """Return the broker with its advertised end points; `bound` has the port of each listener.

    A port of 0 becomes the one that was bound, a host that says "everywhere" this machine's name.
    """
    end_points = tuple(
        EndPoint(
            _reachable(end_point.host),
            end_point.port or bound[end_point.listener_name],
            end_point.listener_name,
            end_point.security_protocol,
        )
        for end_point in config.advertised_end_points
    )
    return Broker(broker_id, end_points, config.broker_rack)


def _reachable(host: str) -> str:
    return host or socket.getfqdn()
