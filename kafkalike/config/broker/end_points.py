"""The listeners of a broker: where it listens, what it advertises, and keys per listener.

Part of Kafka's `KafkaConfig`.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple, Self

from kafkalike.config.broker.keys import BrokerKeys
from kafkalike.config.errors import ConfigError
from kafkalike.config.listeners import (
    listener_prefix,
    parse_csv_map,
    parse_end_points,
    parse_security_protocol_map,
    security_protocol,
)
from kafkalike.model.broker import EndPoint


class ListenerProtocol(NamedTuple):
    """The name of a listener and its security protocol."""

    listener_name: str
    security_protocol: str


class BrokerEndPoints(BrokerKeys):
    """The keys of a broker, with its listeners read into end points."""

    @cached_property
    def max_connections_per_address(self) -> Mapping[str, int]:
        """`max.connections.per.ip.overrides` by address or host name."""
        name = "max.connections.per.ip.overrides"
        pairs = parse_csv_map(name, self.max_connections_per_ip_overrides)
        try:
            return {address: int(limit) for address, limit in pairs.items()}
        except ValueError as error:
            raise ConfigError(f"Error parsing configuration property '{name}': {error}") from None

    @cached_property
    def security_protocols(self) -> Mapping[str, str]:
        """The security protocol of each listener name."""
        return parse_security_protocol_map(self.listener_security_protocol_map)

    @cached_property
    def listener_end_points(self) -> tuple[EndPoint, ...]:
        """Where to listen: `listeners`, or else `host.name` and `port`."""
        text = self.listeners
        if text is None:
            text = f"PLAINTEXT://{self.host_name}:{self.port}"
        return parse_end_points(text, self.security_protocols)

    @cached_property
    def advertised_end_points(self) -> tuple[EndPoint, ...]:
        """What clients are told: `advertised.*`, or else where the broker listens."""
        text = self.advertised_listeners
        if text is None and (self.advertised_host_name, self.advertised_port) != (None, None):
            host = (
                self.host_name if self.advertised_host_name is None else self.advertised_host_name
            )
            port = self.port if self.advertised_port is None else self.advertised_port
            text = f"PLAINTEXT://{host}:{port}"
        if text is not None:
            return parse_end_points(text, self.security_protocols, distinct_ports=False)
        return self.listener_end_points

    @cached_property
    def inter_broker_listener(self) -> ListenerProtocol:
        """The listener that brokers use among themselves."""
        name = self.inter_broker_listener_name
        if name is None:
            key_name = "security.inter.broker.protocol"
            protocol = security_protocol(self.security_inter_broker_protocol, key_name)
            return ListenerProtocol(protocol, protocol)
        if "security.inter.broker.protocol" in self.originals:
            raise ConfigError(
                "Only one of inter.broker.listener.name and "
                "security.inter.broker.protocol should be set."
            )
        return self._mapped_listener(name, "name ", "inter.broker.listener.name")

    @cached_property
    def control_plane_listener(self) -> ListenerProtocol | None:
        """The listener for the controller's requests, if it has one of its own."""
        name = self.control_plane_listener_name
        if name is None:
            return None
        return self._mapped_listener(name, "", "control.plane.listener.name")

    def _mapped_listener(self, name: str, word: str, key_name: str) -> ListenerProtocol:
        protocol = self.security_protocols.get(name.upper())
        if protocol is None:
            raise ConfigError(
                f"Listener with {word}{name.upper()} defined in {key_name} "
                "not found in listener.security.protocol.map."
            )
        return ListenerProtocol(name.upper(), protocol)

    @cached_property
    def forwarding_listeners(self) -> frozenset[str]:
        """The listeners whose clients' requests are forwarded to the broker that can answer."""
        names = (end_point.listener_name for end_point in self.listener_end_points)
        return frozenset(name for name in names if self.for_listener(name).forwarding_enable)

    @cached_property
    def gateway_listeners(self) -> frozenset[str]:
        """The listeners whose clients see this broker alone."""
        names = (end_point.listener_name for end_point in self.listener_end_points)
        return frozenset(name for name in names if self.for_listener(name).gateway)

    def for_listener(self, listener_name: str) -> Self:
        """Return the configuration as one listener sees it, with its `listener.name.X.` keys."""
        return self._overridden(listener_prefix(listener_name))

    def for_mechanism(self, listener_name: str, mechanism: str) -> Self:
        """Return the configuration as one SASL mechanism of a listener sees it."""
        prefix = listener_prefix(listener_name)
        return self._overridden(prefix)._overridden(f"{prefix}{mechanism.lower()}.")

    def _overridden(self, prefix: str) -> Self:
        given = {
            name.removeprefix(prefix): value
            for name, value in self.originals.items()
            if name.startswith(prefix)
        }
        values = self.parse(given)
        return self.replace(**values) if values else self
