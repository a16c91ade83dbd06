"""Requests that come before the broker knows its cluster wait at the gate, one per connection.

The ports must be open before the broker registers, for registration says where they are; but an
answer from a broker that has heard nothing yet would be "no such topic".
"""

from collections.abc import Iterable
from struct import Struct
from typing import Final

from kafkalike.cluster.metadata_cache import MetadataSnapshot
from kafkalike.network.connection import Connection, RequestHandler
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.utils.time import Time, Timer

_API_KEY: Final = Struct(">h")
# What needs no knowledge of the cluster, or brings it.
_ALWAYS_ADMITTED: Final = frozenset(
    {
        ApiKey.API_VERSIONS,
        ApiKey.LEADER_AND_ISR,
        ApiKey.STOP_REPLICA,
        ApiKey.UPDATE_METADATA,
    }
)


_PATIENCE_MS: Final = 5000
"""How long the broker waits for a topic that it knows of from ZooKeeper, but not yet otherwise."""


class RequestGate:
    """Closed at first: it holds what comes. Opened, it only passes on.

    It opens when the controller has told of all topics that were in ZooKeeper at the start, or
    some time after the first word from it (a topic may be on its way out).
    """

    def __init__(self, handle: RequestHandler, topics: Iterable[str], time: Time) -> None:
        self._handle = handle
        self._topics = frozenset(topics)
        self._time = time
        self._timer: Timer | None = None
        self._held: list[tuple[Connection, bytes, int, int]] = []
        self.is_open = False

    def handle(self, connection: Connection, buffer: bytes, start: int, end: int) -> None:
        """Pass a request on, now or when the gate is opened."""
        if self.is_open or _is_admitted(buffer, start, end):
            self._handle(connection, buffer, start, end)
        else:
            self._held.append((connection, buffer, start, end))

    def metadata_changed(self, snapshot: MetadataSnapshot) -> None:
        """Open if the broker knows its cluster now."""
        if self.is_open:
            return
        if self._topics <= snapshot.topics.keys():
            self.open()
        elif self._timer is None:
            self._timer = self._time.call_later_ms(_PATIENCE_MS, self.open)

    def open(self) -> None:
        """Pass on what was held, in order, and everything from now on."""
        self.close()
        self.is_open = True
        held, self._held = self._held, []
        for connection, buffer, start, end in held:
            if connection.is_open:
                self._handle(connection, buffer, start, end)

    def close(self) -> None:
        """Forget the timer."""
        if self._timer is not None and self._timer.active():
            self._timer.cancel()


def _is_admitted(buffer: bytes, start: int, end: int) -> bool:
    return end - start < 2 or _API_KEY.unpack_from(buffer, start)[0] in _ALWAYS_ADMITTED
