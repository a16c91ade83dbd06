"""How a forwarded request is told from one of a client's own: by its client id.

A client id stands in the header of every version of every API, and any broker takes any text; so a
real Apache Kafka that receives a forwarded request just serves it (docs/adr/0007). The mark names
the broker that forwards and keeps the client's own id visible: `__forwarded-by-3:my-app`.
"""

from typing import Final

_PREFIX: Final = "__forwarded-by-"
_VISIBLE_CHARACTERS: Final = 4096
"""The id and the mark must fit a string of the protocol, which ends at 32767 bytes."""


def mark(client_id: str | None, broker_id: int) -> str:
    """Return the client id under which a broker forwards a client's request."""
    if client_id is None:
        return f"{_PREFIX}{broker_id}"
    return f"{_PREFIX}{broker_id}:{client_id[:_VISIBLE_CHARACTERS]}"


def is_marked(client_id: str | None) -> bool:
    """Whether a request with this client id was forwarded by a broker."""
    return client_id is not None and client_id.startswith(_PREFIX)


def unmarked(client_id: str | None) -> str | None:
    """Return the client's own id."""
    if client_id is None or not client_id.startswith(_PREFIX):
        return client_id
    _, colon, own = client_id.partition(":")
    return own if colon else None
