"""Listeners: end points, connection limits, idle connections (Kafka's SocketServer)."""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory
from twisted.logger import Logger

from kafkalike.model.broker import EndPoint
from kafkalike.network.connection import Connection, RequestHandler
from kafkalike.network.listener import Listener
from kafkalike.network.request_memory import RequestMemory
from kafkalike.quota.connection_rates import Admission, ConnectionRates
from kafkalike.utils.time import Time, Timer

log = Logger()

_IDLE_CHECKS = 10
"""How often per `connections.max.idle.ms` connections are looked at: precise to a tenth."""
_BACKLOG = 511


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """Kafka's keys of the same names."""

    max_request_bytes: int
    max_idle_ms: int
    max_connections: int
    max_per_ip: int
    max_per_ip_overrides: Mapping[str, int] = field(default_factory=dict)
    max_queued_bytes: int = -1


class SocketServer:
    """Owns all listeners and their connections."""

    def __init__(
        self,
        reactor: Any,
        time: Time,
        limits: ConnectionLimits,
        handle: RequestHandler,
        rates: ConnectionRates | None = None,
    ) -> None:
        self._reactor = reactor
        self._time = time
        self._limits = limits
        self._handle = handle
        self._rates = rates
        self._delayed: dict[Connection, Timer] = {}
        self._ports: list[Any] = []
        self._served: dict[Connection, int] = {}
        self._held: deque[Connection] = deque()
        self._per_ip: Counter[str] = Counter()
        self._idle_timer: Timer | None = None
        has_limit = limits.max_queued_bytes > 0
        self._memory = RequestMemory(limits.max_queued_bytes) if has_limit else None

    def listen(self, end_point: EndPoint, listener: Listener | None = None) -> int:
        """Open a listener and return its port (of use where port 0 asked for any)."""
        if listener is None:
            listener = Listener(end_point.listener_name)
        factory = listener.factory(_ConnectionFactory(self, listener))
        port = self._reactor.listenTCP(
            end_point.port, factory, backlog=_BACKLOG, interface=end_point.host
        )
        self._ports.append(port)
        if self._idle_timer is None and self._limits.max_idle_ms > 0:
            self._schedule_idle_check()
        return cast(int, port.getHost().port)

    def update_limits(self, limits: ConnectionLimits) -> None:
        """Let other limits hold from now on; connections that stand stay."""
        self._limits = limits
        while self._held and len(self._served) < limits.max_connections:
            self._serve_next()

    async def stop(self) -> None:
        """Close the listeners, then the connections."""
        if self._idle_timer is not None and self._idle_timer.active():
            self._idle_timer.cancel()
        for port in self._ports:
            stopped = port.stopListening()
            if stopped is not None:
                await stopped
        self._ports.clear()
        for connection in [*self._served, *self._held, *self._delayed]:
            connection.close()

    @property
    def connection_count(self) -> int:
        """How many connections are being served."""
        return len(self._served)

    def build(self, listener: Listener, host: str) -> Connection | None:
        """Make the protocol of a new connection, unless its address has too many already."""
        limit = self._limits.max_per_ip_overrides.get(host, self._limits.max_per_ip)
        if self._per_ip[host] >= limit:
            log.info(
                "rejected connection from {host}: it has {limit} already", host=host, limit=limit
            )
            return None
        self._per_ip[host] += 1
        connection = listener.connection(
            self._handle,
            self._limits.max_request_bytes,
            self._connection_opened,
            self._connection_lost,
        )
        connection.memory = self._memory
        return connection

    def _connection_opened(self, connection: Connection) -> None:
        """Serve the connection, unless connections come too fast."""
        connection.opened_ms = self._time.now_ms()
        if self._rates is not None and self._rates.is_active:
            admission = self._rates.admit(
                connection.listener_name, connection.peer_host, connection.opened_ms
            )
            if admission.delay_ms:
                self._delay(connection, admission)
                return
        self._serve_or_hold(connection)

    def _delay(self, connection: Connection, admission: Admission) -> None:
        """Let a connection wait, and then be served or closed."""
        then = self._admit if admission.is_served else Connection.close
        cast(Any, connection.transport).pauseProducing()
        timer = self._time.call_later_ms(admission.delay_ms, then, connection)
        self._delayed[connection] = timer

    def _admit(self, connection: Connection) -> None:
        del self._delayed[connection]
        cast(Any, connection.transport).resumeProducing()
        self._serve_or_hold(connection)

    def _serve_or_hold(self, connection: Connection) -> None:
        """Serve the connection, or hold it until there is room for it."""
        if len(self._served) < self._limits.max_connections:
            self._served[connection] = connection.activity
            return
        log.info("{count} connections are open: a new one waits", count=len(self._served))
        self._held.append(connection)
        cast(Any, connection.transport).pauseProducing()

    def _connection_lost(self, connection: Connection) -> None:
        self._per_ip[connection.peer_host] -= 1
        if not self._per_ip[connection.peer_host]:
            del self._per_ip[connection.peer_host]
        timer = self._delayed.pop(connection, None)
        if timer is not None:
            if timer.active():
                timer.cancel()
        elif self._served.pop(connection, None) is None:
            self._held.remove(connection)
        elif self._held:
            self._serve_next()

    def _serve_next(self) -> None:
        held = self._held.popleft()
        self._served[held] = held.activity
        cast(Any, held.transport).resumeProducing()

    def _schedule_idle_check(self) -> None:
        interval_ms = self._limits.max_idle_ms / _IDLE_CHECKS
        self._idle_timer = self._time.call_later_ms(interval_ms, self._check_idle, {})

    def _check_idle(self, quiet: dict[Connection, int]) -> None:
        """Close what was quiet at so many checks in a row (`quiet` counts them)."""
        still_quiet = {}
        for connection, seen in list(self._served.items()):
            if connection.activity != seen or connection.is_busy:
                self._served[connection] = connection.activity
            elif quiet.get(connection, 0) + 1 >= _IDLE_CHECKS:
                log.debug("closing idle connection from {peer}", peer=connection.peer_host)
                connection.close()
            else:
                still_quiet[connection] = quiet.get(connection, 0) + 1
        self._idle_timer = self._time.call_later_ms(
            self._limits.max_idle_ms / _IDLE_CHECKS, self._check_idle, still_quiet
        )


class _ConnectionFactory(Factory):
    noisy = False

    def __init__(self, server: SocketServer, listener: Listener) -> None:
        self._server = server
        self._listener = listener

    def buildProtocol(self, addr: IAddress | None) -> Connection | None:  # noqa: N802, RUF100
        return self._server.build(self._listener, cast(Any, addr).host)
