"""Whose configs `kafka-configs` is about: types and names of entities, from the options."""

import socket
from dataclasses import dataclass
from typing import Final, Self

from kafkalike.cli.tools.support.errors import IllegalArgumentError
from kafkalike.cli.tools.support.options import Parsed

TOPICS, CLIENTS, USERS, BROKERS, IPS = "topics", "clients", "users", "brokers", "ips"
BROKER_LOGGERS: Final = "broker-loggers"

_TYPES: Final = (TOPICS, CLIENTS, USERS, BROKERS, IPS)

FLAGS: Final = {
    "topic": TOPICS,
    "client": CLIENTS,
    "user": USERS,
    "broker": BROKERS,
    "broker-logger": BROKER_LOGGERS,
    "ip": IPS,
}
DEFAULT_FLAGS: Final = {
    "client-defaults": CLIENTS,
    "user-defaults": USERS,
    "broker-defaults": BROKERS,
    "ip-defaults": IPS,
}


@dataclass(frozen=True, slots=True)
class Entities:
    """Types and names, in the order of the command line; an empty name is the default entity."""

    types: list[str]
    names: list[str]

    @classmethod
    def of(cls, parsed: Parsed) -> Self:
        """Read them; raises what Kafka's tool says about a wrong choice."""
        flags = [name for name in FLAGS if parsed.has(name)]
        defaults = [name for name in DEFAULT_FLAGS if parsed.has(name)]
        types = [
            *parsed.values("entity-type"),
            *(FLAGS[name] for name in flags),
            *(DEFAULT_FLAGS[name] for name in defaults),
        ]
        names = [*_named(parsed), *(parsed.value(name) for name in flags), *("" for _ in defaults)]
        if _named(parsed) or parsed.has("entity-type"):
            _check_no_flags(flags + defaults)
        return cls(types, names)

    @property
    def has_name(self) -> bool:
        """Whether an entity is named."""
        return any(self.names)

    @property
    def has_default(self) -> bool:
        """Whether the default entity of a type is meant."""
        return "" in self.names

    def check_types(self, connect_option: str) -> None:
        """Refuse types that there are not, or not together."""
        twice = [kind for number, kind in enumerate(self.types) if kind in self.types[:number]]
        if twice:
            raise IllegalArgumentError(f"Duplicate entity type(s) specified: {','.join(twice)}")
        allowed = _TYPES if connect_option == "--zookeeper" else (*_TYPES, BROKER_LOGGERS)
        for kind in self.types:
            if kind not in allowed:
                raise IllegalArgumentError(
                    f"Invalid entity type {kind}, the entity type must be one of "
                    f"{','.join(allowed)} with the {connect_option} argument"
                )
        if not self.types:
            raise IllegalArgumentError("At least one entity type must be specified")
        if len(self.types) > 1 and set(self.types) != {USERS, CLIENTS}:
            raise IllegalArgumentError(
                f"Only '{USERS}' and '{CLIENTS}' entity types may be specified together"
            )

    def check_names(self) -> None:
        """Refuse names that no such entity can have."""
        for name in filter(None, self.names):
            if {BROKERS, BROKER_LOGGERS} & set(self.types) and not _is_integer(name):
                raise IllegalArgumentError(
                    f"The entity name for {self.types[0]} must be a valid integer broker id, but "
                    f"it is: {name}"
                )
            if IPS in self.types and not _is_host(name):
                raise IllegalArgumentError(
                    f"The entity name for {self.types[0]} must be a valid IP or resolvable host, "
                    f"but it is: {name}"
                )


def _named(parsed: Parsed) -> list[str]:
    names = iter(parsed.values("entity-name"))
    return [
        next(names) if name == "entity-name" else ""
        for name in parsed.given
        if name in ("entity-name", "entity-default")
    ]


def _check_no_flags(flags: list[str]) -> None:
    if flags:
        raise IllegalArgumentError(
            "--entity-{type,name,default} should not be used in conjunction with specific entity "
            "flags"
        )


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isascii() and text.removeprefix("-").isdigit()


def _is_host(text: str) -> bool:
    try:
        return bool(socket.getaddrinfo(text, None))
    except OSError:
        return False
