"""The ZooKeeper session as seen from the reactor: its state, and who wants to hear of changes.

Part of Kafka's `ZooKeeperClient`. The bridge (or the fake of the tests) reports what happened to
the session; this module decides what that means and calls the handlers, in the reactor thread.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from kafkalike.zk.errors import ZkClosedError, ZkError

log = Logger()


class SessionCredentials(NamedTuple):
    """What a client needs to resume (or to end) a session."""

    session_id: int
    password: bytes


class SessionState(Enum):
    """Where the session is.

    CONNECTING  action: wait for a first connection · to CONNECTED, CLOSED
    CONNECTED   action: everything works · to SUSPENDED, EXPIRED, CLOSED
    SUSPENDED   action: requests wait, ephemerals still stand · to CONNECTED, EXPIRED, CLOSED
    EXPIRED     action: a new session is being made · to CONNECTED, CLOSED
    CLOSED      the end
    """

    CONNECTING = "connecting"
    CONNECTED = "connected"
    SUSPENDED = "suspended"
    EXPIRED = "expired"
    CLOSED = "closed"

    @property
    def predecessors(self) -> "frozenset[SessionState]":
        """The states from which this one may be entered."""
        return _PREDECESSORS[self]


_PREDECESSORS = {
    SessionState.CONNECTING: frozenset[SessionState](),
    SessionState.CONNECTED: frozenset(
        {SessionState.CONNECTING, SessionState.SUSPENDED, SessionState.EXPIRED}
    ),
    SessionState.SUSPENDED: frozenset({SessionState.CONNECTED}),
    SessionState.EXPIRED: frozenset({SessionState.CONNECTED, SessionState.SUSPENDED}),
    SessionState.CLOSED: frozenset(SessionState) - {SessionState.CLOSED},
}


def _nothing() -> None:
    """Do nothing: what a handler does about an event it does not care for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChangeHandler:
    """What somebody does when the session changes; `name` identifies it for unregistering.

    `before_initializing_session`: the old session expired; ephemerals and watches are gone.
    `after_initializing_session`: a new session stands: register again, read everything again.
    `on_suspended` / `on_resumed`: the connection went away / came back within the session.
    """

    name: str
    before_initializing_session: Callable[[], None] = _nothing
    after_initializing_session: Callable[[], None] = _nothing
    on_suspended: Callable[[], None] = _nothing
    on_resumed: Callable[[], None] = _nothing


class Session:
    """The state of the current session and its successors; owned by the bridge.

    `epoch` grows with every interruption: an answer to a request of an earlier epoch says nothing
    about watches any more.
    """

    def __init__(self) -> None:
        self.state = SessionState.CONNECTING
        self.credentials: SessionCredentials | None = None
        self.epoch = 0
        self._handlers: dict[str, StateChangeHandler] = {}
        self._waiting: list[Deferred[None]] = []

    def register(self, handler: StateChangeHandler) -> None:
        """Call this handler from now on, instead of one registered before with the same name."""
        self._handlers[handler.name] = handler

    def unregister(self, name: str) -> None:
        """Forget a handler."""
        self._handlers.pop(name, None)

    def wait_until_connected(self) -> "Deferred[None]":
        """Wait for CONNECTED; ZkClosedError if that cannot come any more."""
        waiter: Deferred[None] = Deferred(self._forget)
        if self.state is SessionState.CLOSED:
            waiter.errback(ZkClosedError("the ZooKeeper client is closed"))
        elif self.state is SessionState.CONNECTED:
            waiter.callback(None)
        else:
            self._waiting.append(waiter)
        return waiter

    def connected(self, credentials: SessionCredentials) -> None:
        """Note a connection; with the former credentials it resumes the session."""
        before = self.state
        self._transition_to(SessionState.CONNECTED)
        self.credentials = credentials
        log.info("ZooKeeper session 0x{id:x} is connected", id=credentials.session_id)
        for waiter in self._take_waiting():
            waiter.callback(None)
        if before is SessionState.EXPIRED:
            self._call(lambda handler: handler.after_initializing_session())
        elif before is SessionState.SUSPENDED:
            self._call(lambda handler: handler.on_resumed())

    def refused(self, error: ZkError) -> None:
        """Note that there will be no first connection; who waits for it hears why."""
        for waiter in self._take_waiting():
            waiter.errback(error)

    def suspended(self) -> None:
        """Note that the connection broke; the session may still live."""
        self._transition_to(SessionState.SUSPENDED)
        self.epoch += 1
        log.warn("ZooKeeper is away; the session stands until its time-out")
        self._call(lambda handler: handler.on_suspended())

    def expired(self) -> None:
        """Note that ZooKeeper ended the session."""
        self._transition_to(SessionState.EXPIRED)
        self.epoch += 1
        log.warn("ZooKeeper session expired; a new one is being made")
        self._call(lambda handler: handler.before_initializing_session())

    def closed(self) -> None:
        """Note the end; whoever waits for a connection is told."""
        if self.state is SessionState.CLOSED:
            return
        self._transition_to(SessionState.CLOSED)
        self.epoch += 1
        self._handlers.clear()
        for waiter in self._take_waiting():
            waiter.errback(ZkClosedError("the ZooKeeper client is closed"))

    def _transition_to(self, state: SessionState) -> None:
        if self.state not in state.predecessors:
            raise AssertionError(f"a session cannot go from {self.state} to {state}")
        self.state = state

    def _take_waiting(self) -> "list[Deferred[None]]":
        waiting, self._waiting = self._waiting, []
        return waiting

    def _forget(self, waiter: "Deferred[None]") -> None:
        if waiter in self._waiting:
            self._waiting.remove(waiter)

    def _call(self, event: Callable[[StateChangeHandler], None]) -> None:
        for handler in list(self._handlers.values()):
            try:
                event(handler)
            except Exception:  # noqa: BLE001 (one handler's bug must not silence the others)
                log.failure("session handler {name} failed", name=handler.name)
