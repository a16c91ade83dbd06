"""A client's connection under TLS: what Twisted encrypts cannot go around its buffers.

File ranges are read and written in pieces, and the peer's pace is Twisted's word to pause.
"""

import os
from typing import Any, Final, cast

from twisted.internet.interfaces import IHandshakeListener, IPushProducer
from twisted.internet.protocol import connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkalike.network.connection import RECEIVE_BUFFER_BYTES, Connection, Rest
from kafkalike.network.tls_failure import tls_failure
from kafkalike.security.distinguished_name import distinguished_name

log = Logger()

_PIECE_BYTES: Final = 64 * 1024


@implementer(IHandshakeListener, IPushProducer)
class TlsConnection(Connection):
    """Like a plain one, but that it writes through the transport."""

    _is_held_back = False

    def connectionMade(self) -> None:  # noqa: D102, N802, RUF100
        super().connectionMade()
        cast(Any, self.transport).transport.bufferSize = RECEIVE_BUFFER_BYTES

    def handshakeCompleted(self) -> None:  # noqa: N802, RUF100
        """Take the name of the client's certificate, if it showed one."""
        certificate = cast(Any, self.transport).peer_certificate()
        if certificate is not None:
            self.peer_certificate_name = distinguished_name(certificate)
        if self.on_secured is not None:
            self.on_secured(self)

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: D102, N802, RUF100
        why = tls_failure(reason)
        if why is not None:
            log.info(
                "Failed authentication with {peer} on {listener} (SSL handshake failed: {why})",
                peer=self.peer_host,
                listener=self.listener_name,
                why=why,
            )
        super().connectionLost(reason)

    def resumeProducing(self) -> None:  # noqa: N802, RUF100
        """Write until all is out or Twisted says to pause."""
        transport = cast(Any, self.transport)
        self._is_held_back = False
        if not self._producing and len(self._out) > 1:
            self._producing = True
            transport.registerProducer(self, True)
        try:
            while self._out and not self._is_held_back and self.is_open:
                transport.write(self._next_piece())
        except OSError as error:
            log.debug("sending to {peer}: {error}", peer=self.peer_host, error=error)
            self.close()
            return
        if not self._out and self._producing:
            self._producing = False
            transport.unregisterProducer()

    def _next_piece(self) -> bytes:
        out = self._out
        head = out.popleft()
        if isinstance(head, bytes | memoryview):
            return bytes(head)
        piece = os.pread(head.fileno(), min(len(head), _PIECE_BYTES), head.position)
        if not piece:  # the file is shorter than promised: the frame is lost
            raise OSError("file range ends early")
        if len(piece) < len(head):
            out.appendleft(Rest(head, len(piece)))
        return piece

    def pauseProducing(self) -> None:  # noqa: N802, RUF100
        """Write no more: the peer is slow."""
        self._is_held_back = True
