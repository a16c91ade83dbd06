"""The network around test brokers, as a process of its own: proxies that can fall silent.

Commands come as JSON lines on stdin, each is answered by a line. The process ends with its stdin;
if nobody said `done` before, the test run has crashed, and what it left running is killed.
"""

import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, cast

from twisted.internet.endpoints import TCP4ClientEndpoint, TCP4ServerEndpoint, connectProtocol
from twisted.internet.interfaces import IAddress, IPushProducer
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.internet.stdio import StandardIO
from twisted.protocols.basic import LineOnlyReceiver
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkalike.testing.sockets import ports_of
from kafkalike.utils.background import Background

HOST: Final = "127.0.0.1"
_MAX_LINE_BYTES: Final = 1 << 20


@implementer(IPushProducer)
class _End(Protocol):
    """One end of a connection through the network; passes on what it receives, unless hushed."""

    def __init__(self, on_made: Callable[["_End"], None], on_lost: Callable[[], None]) -> None:
        self._on_made = on_made
        self._on_lost = on_lost
        self._is_hushed = False
        self.other: _End | None = None
        self.port = 0  # of the peer

    def connectionMade(self) -> None:  # noqa: D102, N802, RUF100
        transport = cast(Any, self.transport)
        transport.setTcpNoDelay(True)
        self.port = transport.getPeer().port
        self._on_made(self)

    def join(self, other: "_End") -> None:
        """Pass on to another end; a slow reader there slows down the writer here."""
        self.other = other
        cast(Any, other.transport).registerProducer(self, True)

    def dataReceived(self, data: bytes) -> None:  # noqa: D102, N802, RUF100
        if self.other is not None:
            cast(Any, self.other.transport).write(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: D102, N802, RUF100
        if self.other is not None and self.other.transport is not None:
            cast(Any, self.other.transport).unregisterProducer()
            cast(Any, self.other.transport).loseConnection()
        self._on_lost()

    def hush(self) -> None:
        """Receive nothing any more, as if every packet was lost."""
        self._is_hushed = True
        cast(Any, self.transport).pauseProducing()

    def abort(self) -> None:
        """Break the connection off."""
        cast(Any, self.transport).abortConnection()

    def pauseProducing(self) -> None:  # noqa: D102, N802, RUF100
        cast(Any, self.transport).pauseProducing()

    def resumeProducing(self) -> None:  # noqa: D102, N802, RUF100
        if not self._is_hushed:
            cast(Any, self.transport).resumeProducing()

    def stopProducing(self) -> None:  # noqa: D102, N802, RUF100
        cast(Any, self.transport).loseConnection()


class _Link:
    """A connection through the network: to whom, from which port, and its ends."""

    def __init__(self, broker_id: int, near: _End) -> None:
        self.broker_id = broker_id
        self.near = near
        self.far: _End | None = None
        self.is_silent = False

    def _ends(self) -> list[_End]:
        return [end for end in (self.near, self.far) if end is not None]

    def hush(self) -> None:
        self.is_silent = True
        for end in self._ends():
            end.hush()

    def abort(self) -> None:
        for end in self._ends():
            end.abort()


class Network:
    """All proxies; each belongs to a broker, and so do the connections that a broker makes."""

    def __init__(self, reactor: Any) -> None:  # Any: no one reactor interface has it all
        self._reactor = reactor
        self._links: set[_Link] = set()
        self._isolated: dict[int, int] = {}
        self._background = Background()

    async def listen(self, port: int, target: int, broker_id: int) -> None:
        """Carry connections to a port on to another one, which belongs to a broker."""
        factory = _ProxyFactory(lambda: self._accepted(target, broker_id))
        endpoint = cast(Any, TCP4ServerEndpoint)(self._reactor, port, interface=HOST)
        await endpoint.listen(factory)

    def isolate(self, broker_id: int, pid: int) -> None:
        """Cut a broker off: nothing comes from it or gets to it, and nobody is told."""
        self._isolated[broker_id] = pid
        own_ports = ports_of(pid)
        for link in self._links:
            if link.broker_id == broker_id or link.near.port in own_ports:
                link.hush()

    def heal(self, broker_id: int) -> None:
        """End an isolation; connections that were cut are broken off, and made anew by clients."""
        self._isolated.pop(broker_id, None)
        for link in [link for link in self._links if link.is_silent]:
            if not self._must_be_silent(link):
                link.abort()

    def _must_be_silent(self, link: _Link) -> bool:
        return link.broker_id in self._isolated or any(
            link.near.port in ports_of(pid) for pid in self._isolated.values()
        )

    def _accepted(self, target: int, broker_id: int) -> _End:
        link: _Link

        def made(near: _End) -> None:
            self._links.add(link)
            if self._must_be_silent(link):
                link.hush()
                return
            cast(Any, near.transport).pauseProducing()  # until there is somebody to pass on to
            self._background.start(self._connect(link, target), f"a connection to {target}")

        link = _Link(broker_id, _End(made, lambda: self._links.discard(link)))
        return link.near

    async def _connect(self, link: _Link, target: int) -> None:
        far = _End(lambda _: None, lambda: None)
        try:
            endpoint = TCP4ClientEndpoint(self._reactor, HOST, target)
            await cast(Any, connectProtocol)(endpoint, far)
        except Exception:  # noqa: BLE001 (whatever it is, the client's connection fails too)
            link.abort()
            return
        link.far = far
        link.near.join(far)
        far.join(link.near)
        if link.is_silent:
            link.hush()
        else:
            link.near.resumeProducing()


class _ProxyFactory(Factory):
    noisy = False

    def __init__(self, accepted: Callable[[], _End]) -> None:
        self._accepted = accepted

    def buildProtocol(self, addr: IAddress | None) -> _End:  # noqa: N802, RUF100
        return self._accepted()


class _Commands(LineOnlyReceiver):
    """Reads commands; see `network.py` for what there is."""

    delimiter = b"\n"
    MAX_LENGTH = _MAX_LINE_BYTES

    def __init__(self, network: Network, reactor: Any) -> None:
        self._network = network
        self._reactor = reactor
        self._background = Background()
        self._pids: list[int] = []

    def lineReceived(self, line: bytes) -> None:  # noqa: D102, N802, RUF100
        self._background.start(self._run(json.loads(line)), "a command")

    async def _run(self, command: dict[str, Any]) -> None:
        error = ""
        try:
            match command.pop("do"):
                case "listen":
                    await self._network.listen(**command)
                case "isolate":
                    self._network.isolate(**command)
                case "heal":
                    self._network.heal(**command)
                case "watch":
                    self._pids = command["pids"]
                case unknown:
                    error = f"no command {unknown}"
        except Exception as problem:  # noqa: BLE001 (told to who asked)
            error = str(problem)
        cast(Any, self).sendLine(json.dumps({"error": error}).encode())

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: D102, N802, RUF100
        for pid in self._pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._reactor.stop()


def main() -> None:
    """Run until stdin ends."""
    from twisted.internet import reactor  # noqa: TID251 (the composition root of this process)

    cast(Any, StandardIO)(_Commands(Network(reactor), reactor))
    cast(Any, reactor).run()


if __name__ == "__main__":
    main()
