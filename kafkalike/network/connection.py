"""The server side of one connection: one request in hand, the next one read when it is answered.

Answers go out by `send` and `sendfile` straight from the reactor; what the socket does not take at
once follows through Twisted's pull producer. As long as a request is in hand the frames behind it
wait, and reading pauses: that is the order Kafka promises, and the back-pressure.
"""

import os
import socket
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, cast
from typing import Protocol as Interface

from twisted.internet.interfaces import IPullProducer
from twisted.internet.protocol import Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkalike.network.framing import Frame, Framer
from kafkalike.network.request_memory import RequestMemory
from kafkalike.protocol.errors import ProtocolError
from kafkalike.security.principal import ANONYMOUS, KafkaPrincipal

log = Logger()

RECEIVE_BUFFER_BYTES = 256 * 1024
"""How much one read takes: large reads make few chunks of a large request."""

_MORE = socket.MSG_MORE


class FileRange(Interface):
    """A part of an open file, to be sent by the kernel."""

    position: int

    def __len__(self) -> int:
        """Count its bytes."""

    def fileno(self) -> int:
        """Return the file's descriptor."""


Buffer = bytes | memoryview
RequestHandler = Callable[["Connection", bytes, int, int], None]
"""Takes one frame and calls `connection.respond` exactly once, now or later."""


@implementer(IPullProducer)
class Connection(Protocol):
    """A client's connection; created by the listener's factory, which hears of its end."""

    def __init__(
        self,
        listener_name: str,
        handle: RequestHandler,
        max_frame_bytes: int,
        on_opened: Callable[["Connection"], None],
        on_lost: Callable[["Connection"], None],
    ) -> None:
        self.listener_name = listener_name
        self.peer_host = ""
        self.principal: KafkaPrincipal = ANONYMOUS
        self.peer_certificate_name: str | None = None
        self.on_secured: Callable[[Connection], None] | None = None
        self.state: Any = None  # what the server keeps per connection; the network does not look
        self.opened_ms = 0
        self.is_busy = False
        self.is_open = False
        self.activity = 0
        self.memory: RequestMemory | None = None  # None: requests may take what they need
        self._is_held = False
        self._handle = handle
        self._on_opened = on_opened
        self._on_lost = on_lost
        self._told_when_lost: list[Callable[[], None]] = []
        self._framer = Framer(max_frame_bytes)
        self._waiting: deque[Frame] = deque()
        self._out: deque[Buffer | FileRange] = deque()
        self._producing = False
        self._paused = False
        self._closing = False
        self._draining = False

    def connectionMade(self) -> None:  # noqa: D102, N802, RUF100
        transport = cast(Any, self.transport)
        transport.setTcpNoDelay(True)
        transport.bufferSize = RECEIVE_BUFFER_BYTES
        self.peer_host = transport.getPeer().host
        self.is_open = True
        self._on_opened(self)

    def dataReceived(self, data: bytes) -> None:  # noqa: D102, N802, RUF100
        self.activity += 1
        try:
            for frame in self._framer.feed(data):
                if self.is_busy:
                    self._waiting.append(frame)
                elif not self._closing:
                    self.is_busy = True
                    self._handle(self, *frame)
        except ProtocolError as error:
            self.refuse(str(error))
        if self._waiting and not self._paused and not self._closing:
            self._paused = True
            cast(Any, self.transport).pauseProducing()
        if self.memory is not None:
            self.memory.received(self)

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: D102, N802, RUF100
        self.is_open = False
        self._closing = True
        self._waiting.clear()
        self._out.clear()
        if self.memory is not None:
            self.memory.forget(self)
        self._on_lost(self)
        for tell in self._told_when_lost:
            tell()

    def when_lost(self, tell: Callable[[], None]) -> None:
        """Have something called when the connection is gone: what was opened for it can go too."""
        self._told_when_lost.append(tell)

    def respond(self, buffers: Sequence[Buffer | FileRange] | None) -> None:
        """Send the answer to the request in hand (None: it has none), then take the next one."""
        self.activity += 1
        if buffers and self.is_open and not self._closing:
            self._send(buffers)
        self.is_busy = False
        if self._waiting and not self._draining:
            self._handle_waiting()
        if self._paused and not self._waiting and self.is_open and not self._closing:
            self._paused = False
            if not self._is_held:
                cast(Any, self.transport).resumeProducing()
        if self.memory is not None:
            self.memory.answered(self)

    @property
    def awaited_bytes(self) -> int:
        """The size of the request that has begun to come, 0 if there is none."""
        return self._framer.awaited_bytes

    def hold(self) -> None:
        """Do not read any more, until `let_go`."""
        self._is_held = True
        cast(Any, self.transport).pauseProducing()

    def let_go(self) -> None:
        """Read on, unless requests wait to be answered."""
        self._is_held = False
        if self.is_open and not self._paused and not self._closing:
            cast(Any, self.transport).resumeProducing()

    def send_and_keep(self, buffers: Sequence[Buffer | FileRange]) -> None:
        """Send the answer to the request in hand, and keep it in hand until `respond(None)`."""
        self.activity += 1
        if self.is_open and not self._closing:
            self._send(buffers)

    def _handle_waiting(self) -> None:
        # An answer that is given at once comes back here; the loop, and not that call, goes on.
        self._draining = True
        try:
            while self._waiting and not self.is_busy and not self._closing:
                self.is_busy = True
                self._handle(self, *self._waiting.popleft())
        finally:
            self._draining = False

    def refuse(self, why: str) -> None:
        """Close, because the peer sent what cannot be answered."""
        log.info("closing connection from {peer}: {why}", peer=self.peer_host, why=why)
        self.close()

    @property
    def max_frame_bytes(self) -> int:
        """The largest request that is taken."""
        return self._framer.max_frame_bytes

    @max_frame_bytes.setter
    def max_frame_bytes(self, size: int) -> None:
        self._framer.max_frame_bytes = size

    def finish(self, last_words: bytes | None) -> None:
        """Say why, if there are words for it, and close when they are out."""
        if not self.is_open:
            return
        if last_words and not self._closing:
            self._send([last_words])
        self._closing = True
        self._waiting.clear()
        cast(Any, self.transport).loseConnection()

    def close(self) -> None:
        """Close at once; what waits is dropped."""
        self._closing = True
        self._waiting.clear()
        if self.is_open:
            cast(Any, self.transport).abortConnection()

    def _send(self, buffers: Sequence[Buffer | FileRange]) -> None:
        self._out.extend(buffers)
        if not self._producing:
            self.resumeProducing()

    def resumeProducing(self) -> None:  # noqa: N802, RUF100
        """Send until all is out or the socket is full; Twisted calls again when it has room."""
        transport = cast(Any, self.transport)
        sock = transport.socket
        out = self._out
        try:
            while out:
                head = out[0]
                if isinstance(head, bytes | memoryview):
                    sent = sock.send(head, _MORE if len(out) > 1 else 0)
                    if sent < len(head):
                        out[0] = memoryview(head)[sent:]
                        break
                else:
                    sent = os.sendfile(sock.fileno(), head.fileno(), head.position, len(head))
                    if sent < len(head):
                        out[0] = Rest(head, sent)
                        if not sent:  # the file is shorter than promised: the frame is lost
                            raise OSError("file range ends early")
                        continue
                out.popleft()
            else:
                if self._producing:
                    self._producing = False
                    transport.unregisterProducer()
                return
        except BlockingIOError:
            pass
        except OSError as error:
            log.debug("sending to {peer}: {error}", peer=self.peer_host, error=error)
            self.close()
            return
        if not self._producing:
            self._producing = True
            # Registering a pull producer would resume it at once; the socket is known to be full.
            transport.producer = self
            transport.streamingProducer = False
        transport.startWriting()

    def stopProducing(self) -> None:  # noqa: N802, RUF100
        """Drop what is not sent: the connection is gone."""
        self._out.clear()


class Rest:
    """What is left of a file range; keeps the range, and so its file, alive."""

    __slots__ = ("_of", "_size", "position")

    def __init__(self, of: FileRange, sent: int) -> None:
        # The range itself, never another rest: a slow peer takes a file in thousands of pieces.
        self._of: FileRange = of._of if isinstance(of, Rest) else of
        self.position: int = of.position + sent
        self._size = len(of) - sent

    def __len__(self) -> int:
        return self._size

    def fileno(self) -> int:
        """Return the file's descriptor."""
        return self._of.fileno()
