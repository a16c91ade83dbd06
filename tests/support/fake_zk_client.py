"""A client of FakeZooKeeper: its connection, its session, its watches, its requests."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar, cast

from twisted.internet import defer
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import Clock

from kafkalike.zk.errors import (
    ConnectionLossError,
    NoNodeError,
    SessionExpiredError,
    ZkClosedError,
    ZkError,
    ZkTimeoutError,
)
from kafkalike.zk.handlers import ZkHandlers
from kafkalike.zk.ops import (
    MATCH_ANY_VERSION,
    OPEN_ACL_UNSAFE,
    Acl,
    CreateOp,
    DeleteOp,
    OpResult,
    SetDataOp,
    Stat,
    ZkOp,
)
from kafkalike.zk.recursive import create_with_parents
from kafkalike.zk.session import SessionCredentials, SessionState
from tests.support.fake_zk_tree import Change, Event, ZkTree

T = TypeVar("T")


class FakeEnsemble(Protocol):
    """What a client needs of FakeZooKeeper."""

    clock: Clock
    is_serving: bool
    tree: ZkTree

    def begin_session(self) -> SessionCredentials:
        """Make a session."""

    def has_session(self, credentials: SessionCredentials) -> bool:
        """Whether a session lives and this is its password."""

    def end_session(self, session_id: int, *, keeps_ephemerals: bool = False) -> None:
        """End a session."""

    def write(self, ops: Sequence[ZkOp], session_id: int, *, is_multi: bool) -> list[OpResult]:
        """Carry out a write."""

    def deliver(self, call: Callable[[], None]) -> None:
        """Let something reach a client."""

    def forget(self, client: "FakeZkClient") -> None:
        """Note that a client is closed."""


@dataclass(slots=True, eq=False)
class _Request:
    path: str
    carry_out: Callable[[], Any]
    answer: "Deferred[Any]"


class FakeZkClient(ZkHandlers):
    """One client of the fake ensemble; see `kafkalike.zk.zookeeper.ZooKeeper`."""

    def __init__(self, ensemble: FakeEnsemble, resume: SessionCredentials | None) -> None:
        super().__init__()
        self._ensemble = ensemble
        self._resume = resume
        self._armed: set[tuple[bool, str]] = set()  # (is it a child watch, path)
        self._waiting: list[_Request] = []
        self._in_flight: list[_Request] = []
        self._loses_next_answer = False
        self._loses_next_request = False
        self._loses_next_multi = False

    # What happens to the connection

    def suspend(self) -> None:
        """Lose the connection; the session stands. Requests under way fail, new ones wait."""
        if self.state is SessionState.CONNECTED:
            self._session.suspended()
            self._fail(self._in_flight, ConnectionLossError)

    def resume(self) -> None:
        """Connect again: to the same session if it lives, else to a new one."""
        if self.state in (SessionState.CONNECTED, SessionState.CLOSED):
            return
        before = self.credentials or self._resume
        if before is not None and self._ensemble.has_session(before):
            self._connected(before)
            return
        if self.state is SessionState.SUSPENDED:
            self._expired()
        self._connected(self._ensemble.begin_session())

    def expire(self, *, is_followed: bool = True, keeps_ephemerals: bool = False) -> None:
        """Let the session expire; a new one follows at once, or with `resume()`.

        With `keeps_ephemerals` ZooKeeper forgets to delete its znodes, which it sometimes does
        (ZOOKEEPER-2985).
        """
        if self.state is SessionState.CONNECTED:
            self.suspend()
        self._ensemble.end_session(self.session_id, keeps_ephemerals=keeps_ephemerals)
        self._expired()
        if is_followed:
            self.resume()

    def session_was_ended(self) -> None:
        """Learn that somebody else ended the session."""
        if self.state is SessionState.CONNECTED:
            self.expire()

    def lose_next_answer(self) -> None:
        """Let the connection break after the next request was carried out, before its answer."""
        self._loses_next_answer = True

    def lose_answer_of_next_multi(self) -> None:
        """Let the connection break after the next `multi` was carried out, before its answer."""
        self._loses_next_multi = True

    def lose_next_request(self) -> None:
        """Let the connection break before the next request reaches ZooKeeper."""
        self._loses_next_request = True

    def tell(self, event: Event) -> None:
        """Take a change: if a watch is set for it, it is used up and the handler hears of it."""
        if self.state is not SessionState.CONNECTED:
            return  # found out at the next connection
        watch = (event.change is Change.CHILDREN, event.path)
        if event.change is Change.DELETED:
            self._armed.discard((True, event.path))
        if watch in self._armed:
            self._armed.discard(watch)
            self._ensemble.deliver(partial(self._call_handler, event))

    # kafkalike.zk.zookeeper.ZooKeeper

    async def connect(self, timeout_ms: int) -> None:
        """Connect if the ensemble serves, else wait for it."""
        if self._ensemble.is_serving:
            self.resume()
        waiting = self._session.wait_until_connected()
        waiting.addTimeout(timeout_ms / 1000, cast(IReactorTime, self._ensemble.clock))
        try:
            await waiting
        except defer.TimeoutError:
            raise ZkTimeoutError(f"no connection within {timeout_ms} ms") from None

    async def close(self) -> None:
        """End the session."""
        if self.state is SessionState.CLOSED:
            return
        self._session.closed()
        self._watches.clear()
        self._armed.clear()
        self._fail(self._in_flight, ZkClosedError)
        self._fail(self._waiting, ZkClosedError)
        self._ensemble.forget(self)
        self._ensemble.end_session(self.session_id)

    async def create(
        self,
        path: str,
        data: bytes | None = None,
        *,
        ephemeral: bool = False,
        sequence: bool = False,
        acl: tuple[Acl, ...] = OPEN_ACL_UNSAFE,
        makepath: bool = False,
    ) -> str:
        """Create a znode."""
        op = CreateOp(path, data, ephemeral=ephemeral, sequence=sequence, acl=acl)

        async def create() -> str:
            return str(await self._write(op))

        if not makepath:
            return await create()
        return await create_with_parents(path, create, partial(self.create, acl=acl))

    async def get(self, path: str) -> tuple[bytes | None, Stat]:
        """Read a znode."""

        def carry_out() -> tuple[bytes | None, Stat]:
            znode, stat = self._ensemble.tree.find(path), self._ensemble.tree.stat(path)
            self._watch_data(path, stat)
            return znode.data, stat

        return await self._request(path, carry_out)

    async def exists(self, path: str) -> Stat | None:
        """Read a stat."""

        def carry_out() -> Stat | None:
            stat = self._stat_or_none(path)
            self._watch_data(path, stat)
            return stat

        return await self._request(path, carry_out)

    async def get_children(self, path: str, *, register_watch: bool = True) -> list[str]:
        """List children."""

        def carry_out() -> list[str]:
            children = self._ensemble.tree.children(path)
            if register_watch and self._watches.wants_children(path):
                self._watches.children_watched(path, self._ensemble.tree.stat(path))
                self._armed.add((True, path))
            return children

        return await self._request(path, carry_out)

    async def set(self, path: str, data: bytes | None, version: int = MATCH_ANY_VERSION) -> Stat:
        """Replace data."""
        stat = await self._write(SetDataOp(path, data, version))
        assert isinstance(stat, Stat)
        return stat

    async def delete(self, path: str, version: int = MATCH_ANY_VERSION) -> None:
        """Delete a znode."""
        await self._write(DeleteOp(path, version))

    async def get_acl(self, path: str) -> tuple[Acl, ...]:
        """Read the access list."""
        return await self._request(path, lambda: self._ensemble.tree.find(path).acl)

    async def multi(self, ops: Sequence[ZkOp]) -> list[OpResult]:
        """Carry out all or none."""

        def carry_out() -> list[OpResult]:
            if self._loses_next_multi:
                self._loses_next_multi, self._loses_next_answer = False, True
            return self._ensemble.write(list(ops), self.session_id, is_multi=True)

        return await self._request(ops[0].path, carry_out)

    # Requests

    async def _write(self, op: ZkOp) -> OpResult:
        write = self._ensemble.write
        (result,) = await self._request(
            op.path, lambda: write([op], self.session_id, is_multi=False)
        )
        return result

    def _request(self, path: str, carry_out: Callable[[], T]) -> "Deferred[T]":
        answer: Deferred[T] = Deferred()
        request = _Request(path, carry_out, answer)
        if self.state is SessionState.CONNECTED:
            self._send(request)
        elif self.state is SessionState.CLOSED:
            answer.errback(ZkClosedError("the ZooKeeper client is closed", path=path))
        elif self.state is SessionState.EXPIRED:
            answer.errback(SessionExpiredError(path=path))
        else:
            self._waiting.append(request)
        return answer

    def _send(self, request: _Request) -> None:
        self._in_flight.append(request)
        self._ensemble.deliver(partial(self._answer, request))

    def _answer(self, request: _Request) -> None:
        if request not in self._in_flight:
            return  # failed meanwhile
        if self._loses_next_request:
            self._loses_next_request = False
            self.suspend()
            return
        result: Any
        try:
            result = request.carry_out()
        except ZkError as error:
            result = error
        if self._loses_next_answer:
            self._loses_next_answer = False
            self.suspend()
        elif request in self._in_flight:
            self._in_flight.remove(request)
            if isinstance(result, ZkError):
                request.answer.errback(result)
            else:
                request.answer.callback(result)

    def _fail(self, requests: list[_Request], error: type[ZkError]) -> None:
        failed = requests[:]
        requests.clear()
        for request in failed:
            request.answer.errback(error(path=request.path))

    # Session and watches

    def _connected(self, credentials: SessionCredentials) -> None:
        is_resumed = self.state is SessionState.SUSPENDED
        self._session.connected(credentials)
        if is_resumed:
            self._look_for_missed_changes()
        waiting, self._waiting = self._waiting, []
        for request in waiting:
            self._send(request)

    def _expired(self) -> None:
        self._watches.session_expired()
        self._armed.clear()
        self._fail(self._in_flight, SessionExpiredError)
        self._fail(self._waiting, SessionExpiredError)
        self._session.expired()

    def _look_for_missed_changes(self) -> None:
        for path in self._watches.set_on_data():
            self._watches.recheck_data(path, self._stat_or_none(path))
        for path in self._watches.set_on_children():
            self._watches.recheck_children(path, self._stat_or_none(path))
        self._armed = {(False, path) for path in self._watches.set_on_data()}
        self._armed |= {(True, path) for path in self._watches.set_on_children()}

    def _watch_data(self, path: str, stat: Stat | None) -> None:
        if self._watches.wants_data(path):
            self._watches.data_watched(path, stat)
            self._armed.add((False, path))

    def _stat_or_none(self, path: str) -> Stat | None:
        try:
            return self._ensemble.tree.stat(path)
        except NoNodeError:
            return None

    def _call_handler(self, event: Event) -> None:
        if self.state is not SessionState.CONNECTED:
            return  # found out at the next connection
        match event.change:
            case Change.CREATED:
                self._watches.created(event.path)
            case Change.DELETED:
                self._watches.deleted(event.path)
            case Change.DATA:
                self._watches.data_changed(event.path)
            case Change.CHILDREN:
                self._watches.children_changed(event.path)
