"""`/brokers/ids/<id>`: the registration of a broker, ephemeral."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafkalike.model.broker import Broker, EndPoint
from kafkalike.zk.errors import ZkDataError
from kafkalike.zk.znodes.json_data import encode_json, reading

_END_POINT = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")


@dataclass(frozen=True, slots=True)
class BrokerInfo:
    """A broker with what else its registration says; version 5 from protocol 2.7 on, before 4."""

    broker: Broker
    version: int = 5
    jmx_port: int = -1
    timestamp_ms: int = 0


class BrokerIdsZNode:
    """The parent of all registrations."""

    PATH = "/brokers/ids"


class BrokerIdZNode:
    """One broker's registration. Its czxid is the broker epoch."""

    @staticmethod
    def path(broker_id: int) -> str:
        """Where the broker registers."""
        return f"{BrokerIdsZNode.PATH}/{broker_id}"

    @staticmethod
    def encode(info: BrokerInfo) -> bytes:
        """Write the registration; host and port are those of the first PLAINTEXT listener."""
        broker = info.broker
        plaintext = next((e for e in broker.end_points if e.security_protocol == "PLAINTEXT"), None)
        value: dict[str, Any] = {}
        if info.version >= 5:
            value["features"] = {
                name: {"min_version": low, "max_version": high}
                for name, (low, high) in broker.features.items()
            }
        if info.version >= 4:
            value["listener_security_protocol_map"] = {
                e.listener_name: e.security_protocol for e in broker.end_points
            }
        value["endpoints"] = [e.connection_string for e in broker.end_points]
        if info.version >= 3 and broker.rack is not None:
            value["rack"] = broker.rack
        value |= {
            "jmx_port": info.jmx_port,
            "port": plaintext.port if plaintext else -1,
            "host": plaintext.host if plaintext else None,
            "version": info.version,
            "timestamp": str(info.timestamp_ms),
        }
        return encode_json(value)

    @staticmethod
    def decode(broker_id: int, data: bytes | None) -> BrokerInfo:
        """Read a registration of any version since 1."""
        path = BrokerIdZNode.path(broker_id)
        with reading(data, path) as value:
            version = int(value["version"])
            if version < 1:
                raise ZkDataError(f"{path}: version {version} is not supported", path=path)
            if version == 1:
                end_points = [EndPoint(value["host"], int(value["port"]), "PLAINTEXT", "PLAINTEXT")]
            else:
                end_points = _end_points(
                    value["endpoints"], value.get("listener_security_protocol_map")
                )
            features = {
                name: (int(levels["min_version"]), int(levels["max_version"]))
                for name, levels in (value.get("features") or {}).items()
            }
            broker = Broker(broker_id, tuple(end_points), value.get("rack"), features)
            timestamp_ms = int(value.get("timestamp", 0))
            return BrokerInfo(broker, version, int(value["jmx_port"]), timestamp_ms)


def _end_points(listeners: Sequence[str], protocols: Mapping[str, str] | None) -> list[EndPoint]:
    """Read `NAME://host:port`; where no map says otherwise the name is the security protocol."""
    end_points = []
    for listener in listeners:
        match = _END_POINT.fullmatch(listener)
        if match is None:
            raise ValueError(f"{listener!r} is not an end point")
        name, host, port = match.groups()
        protocol = name if protocols is None else protocols[name]
        end_points.append(EndPoint(host, int(port), name, protocol))
    return end_points
