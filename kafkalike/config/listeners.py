"""Reading `listeners` and its relatives into end points.

Part of Kafka's `KafkaConfig`, `CoreUtils` and `EndPoint`: the texts are
`NAME://host:port,NAME2://[::1]:port` and `NAME:PROTOCOL,...`; names are upper case everywhere.
"""

import re
from collections.abc import Mapping
from typing import Final

from kafkalike.config.errors import ConfigError, require
from kafkalike.model.broker import EndPoint

SECURITY_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
SASL_PROTOCOLS: Final = frozenset({"SASL_PLAINTEXT", "SASL_SSL"})
LISTENER_PREFIX: Final = "listener.name."
_END_POINT: Final = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")
_COMMA: Final = re.compile(r"\s*,\s*")


def parse_csv(text: str | None) -> tuple[str, ...]:
    """Split a comma separated text, leaving empty parts out."""
    return tuple(part for part in _COMMA.split(text or "") if part)


def parse_csv_map(name: str, text: str) -> dict[str, str]:
    """Read `a:1,b:2`; the last colon of a pair separates, so that IPv6 addresses can be keys."""
    pairs = {}
    for pair in _COMMA.split(text) if text else ():
        left, colon, right = pair.rpartition(":")
        if not colon:
            raise ConfigError(f"Error parsing configuration property '{name}': no ':' in '{pair}'")
        pairs[left.strip()] = right.strip()
    return pairs


def security_protocol(text: str, key_name: str) -> str:
    """Check the name of a security protocol."""
    if text.upper() not in SECURITY_PROTOCOLS:
        raise ConfigError(f"Invalid security protocol `{text}` defined in {key_name}")
    return text.upper()


def parse_security_protocol_map(text: str) -> dict[str, str]:
    """Read `listener.security.protocol.map`: the security protocol of each listener name."""
    name = "listener.security.protocol.map"
    return {
        listener.upper(): security_protocol(protocol, name)
        for listener, protocol in parse_csv_map(name, text).items()
    }


def parse_end_point(text: str, protocols: Mapping[str, str]) -> EndPoint:
    """Read `NAME://host:port`; an empty host stays empty (the default interface)."""
    match = _END_POINT.fullmatch(text)
    if match is None:
        raise ConfigError(f"Unable to parse {text} to a broker endpoint")
    listener, host, port = match[1].upper(), match[2], int(match[3])
    if listener not in protocols:
        raise ConfigError(f"No security protocol defined for listener {listener}")
    return EndPoint(host, port, listener, protocols[listener])


def parse_end_points(
    text: str, protocols: Mapping[str, str], *, distinct_ports: bool = True
) -> tuple[EndPoint, ...]:
    """Read a list of end points with distinct names and, for sockets to bind, distinct ports."""
    try:
        end_points = tuple(parse_end_point(part, protocols) for part in parse_csv(text))
    except ConfigError as error:
        message = f"Error creating broker listeners from '{text}': {error.message}"
        raise ConfigError(message) from None
    names = {end_point.listener_name for end_point in end_points}
    require(
        len(names) == len(end_points),
        f"Each listener must have a different name, listeners: {text}",
    )
    # Port 0 (any free port) may repeat.
    ports = [end_point.port for end_point in end_points if end_point.port != 0]
    require(
        not distinct_ports or len(set(ports)) == len(ports),
        f"Each listener must have a different port, listeners: {text}",
    )
    return end_points


def listener_prefix(listener_name: str) -> str:
    """Return the prefix of keys that hold for one listener: `listener.name.internal.`."""
    return f"{LISTENER_PREFIX}{listener_name.lower()}."
