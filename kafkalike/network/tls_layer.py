"""TLS between a TCP transport and a protocol: encrypted bytes on one side, plain ones on the other.

Python's `ssl` does the work in memory; this feeds it. To the protocol within it is the transport,
and tells it when the handshake is done (`handshakeCompleted`). Twisted's own layer needs pyOpenSSL,
which every process would load that imports Twisted's TCP.
"""

import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, cast

from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure

_READ_BYTES: Final = 256 * 1024


class TlsLayer(Protocol):
    """One connection's TLS; `inner` is the protocol that speaks through it."""

    def __init__(
        self, inner: Protocol, context: ssl.SSLContext, *, server_hostname: str | None = None
    ) -> None:
        self.inner = inner
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._ssl = context.wrap_bio(
            self._incoming,
            self._outgoing,
            server_side=context.protocol == ssl.PROTOCOL_TLS_SERVER,
            server_hostname=server_hostname,
        )
        self._is_secured = False
        self._is_over = False
        self._waiting: list[bytes] = []
        self._failure: Failure | None = None

    # Towards the network

    def connectionMade(self) -> None:  # noqa: D102, N802, RUF100
        cast(Any, self.inner).makeConnection(self)
        self._shake_hands()

    def dataReceived(self, data: bytes) -> None:  # noqa: D102, N802, RUF100
        self._incoming.write(data)
        if not self._is_secured:
            self._shake_hands()
        if self._is_secured:
            self._read()

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: D102, N802, RUF100
        self._is_over = True
        self.inner.connectionLost(self._failure or reason)

    def _shake_hands(self) -> None:
        try:
            self._ssl.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return
        except ssl.SSLError:
            self._fail()
            return
        self._is_secured = True
        self._flush()
        cast(Any, self.inner).handshakeCompleted()
        waiting, self._waiting = self._waiting, []
        for data in waiting:
            self.write(data)

    def _read(self) -> None:
        while not self._is_over:
            try:
                data = self._ssl.read(_READ_BYTES)
            except ssl.SSLWantReadError:
                break
            except ssl.SSLZeroReturnError:
                self.loseConnection()
                return
            except ssl.SSLError:
                self._fail()
                return
            if not data:
                self.loseConnection()
                return
            self.inner.dataReceived(data)
        self._flush()  # keys may have been updated

    def _fail(self) -> None:
        """End the connection for a reason of TLS, after the alert that tells the peer."""
        self._failure = cast(Any, Failure)()
        self._flush()
        self._is_over = True
        cast(Any, self.transport).loseConnection()

    def _flush(self) -> None:
        if self._outgoing.pending:
            cast(Any, self.transport).write(self._outgoing.read())

    # Towards the protocol within: what it knows as its transport

    def write(self, data: bytes) -> None:
        """Encrypt and send; before the end of the handshake it waits."""
        if self._is_over:
            return
        if not self._is_secured:
            self._waiting.append(data)
            return
        try:
            self._ssl.write(data)
        except ssl.SSLError:
            self._fail()
            return
        self._flush()

    def loseConnection(self) -> None:  # noqa: N802, RUF100
        """Say goodbye and close when all is sent."""
        if self._is_secured and not self._is_over:
            self._is_over = True
            with suppress(ssl.SSLError):  # the goodbye of the other side is not waited for
                self._ssl.unwrap()
            self._flush()
        self._is_over = True
        cast(Any, self.transport).loseConnection()

    def abortConnection(self) -> None:  # noqa: N802, RUF100
        """Close at once."""
        self._is_over = True
        cast(Any, self.transport).abortConnection()

    def peer_certificate(self) -> dict[str, Any] | None:
        """Return the peer's certificate, if it showed one that was checked."""
        return cast("dict[str, Any] | None", self._ssl.getpeercert()) or None

    def __getattr__(self, name: str) -> Any:
        """Whatever else a protocol asks of its transport (peer, pauses, producers) is TCP's."""
        if name.startswith("_") or self.transport is None:
            raise AttributeError(name)
        return getattr(self.transport, name)


class TlsFactory(Factory):
    """Puts a layer around each connection that the factory within makes."""

    noisy = False

    def __init__(
        self,
        connections: Factory,
        context: Callable[[], ssl.SSLContext],
        server_hostname: str | None = None,
    ) -> None:
        self._connections = connections
        self._context = context
        self._server_hostname = server_hostname

    def buildProtocol(self, addr: IAddress | None) -> TlsLayer | None:  # noqa: N802, RUF100
        """Make a layer, unless the factory within refuses the connection."""
        inner: Any = self._connections.buildProtocol(addr)
        if inner is None:
            return None
        return TlsLayer(inner, self._context(), server_hostname=self._server_hostname)
