"""ZkBridge: kazoo's threads on one side, the reactor on the other.

The only module that knows that kazoo has threads. Requests go to kazoo from the reactor thread;
answers, watches and session changes come from three different kazoo threads and enter the reactor
through `callFromThread`, so their order is not promised: a watch carries no data, it only says
"look again". kazoo reconnects and, after an expiry, makes a new session by itself; what it does not
do is to set the watches again after a lost connection, so that is done here.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from kazoo.client import KazooClient, TransactionRequest
from kazoo.protocol.states import EventType, KazooState, KeeperState, WatchedEvent
from twisted.internet import defer, task
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThreadPool
from twisted.logger import Logger

from kafkalike.utils.background import Background
from kafkalike.zk import kazoo_values
from kafkalike.zk.client_security import NO_SECURITY, ZkClientSecurity
from kafkalike.zk.errors import (
    AuthFailedError,
    NodeExistsError,
    SessionExpiredError,
    ZkClosedError,
    ZkError,
    ZkTimeoutError,
)
from kafkalike.zk.handlers import ZkHandlers
from kafkalike.zk.ops import MATCH_ANY_VERSION, OPEN_ACL_UNSAFE, Acl, OpResult, Stat, ZkOp
from kafkalike.zk.paths import ConnectString, with_chroot, without_chroot
from kafkalike.zk.recursive import create_with_parents
from kafkalike.zk.session import SessionCredentials, SessionState

log = Logger()

# kazoo speaks to Python's logging; without a handler its warnings would land on stderr.
_kazoo_log = logging.getLogger("kafkalike.zk.kazoo")
_kazoo_log.addHandler(logging.NullHandler())

# Between two rounds through all servers, as ZooKeeper's own client: at most a second.
_RECONNECT = {"max_tries": -1, "delay": 0.1, "backoff": 2, "max_delay": 1.0}

_LOGIN_PAUSE_S = 1.0

# kazoo has no types; these two names are all of it that is called here.
_untyped_client: Any = KazooClient
_untyped_transaction: Any = TransactionRequest


class ZkBridge(ZkHandlers):
    """A ZooKeeper session and its successors for one broker or tool; see `zk/zookeeper.py`.

    Made and used in the reactor thread. `connect` first, `close` last. With `resume` it takes over
    the session of these credentials instead of making one (if ZooKeeper still knows it).
    """

    def __init__(
        self,
        reactor: Any,  # no one interface has callFromThread and the thread pool
        connect_string: str,
        *,
        session_timeout_ms: int = 18_000,
        resume: SessionCredentials | None = None,
        security: ZkClientSecurity = NO_SECURITY,
        chroot_acl: tuple[Acl, ...] = OPEN_ACL_UNSAFE,
    ) -> None:
        super().__init__()
        self._reactor = reactor
        self._chroot_acl = chroot_acl
        self._has_login = security.login is not None
        hosts, self._chroot = ConnectString.parse(connect_string)
        self._background = Background()
        # One watcher object per path: kazoo keeps them in a set, so reading twice sets one watch.
        self._data_watchers: dict[str, Callable[[WatchedEvent], None]] = {}
        self._child_watchers: dict[str, Callable[[WatchedEvent], None]] = {}
        self._pending: dict[Deferred[Any], str] = {}
        self._started = False
        self._kazoo = _untyped_client(
            hosts=hosts,
            timeout=session_timeout_ms / 1000,
            client_id=resume,
            connection_retry=dict(_RECONNECT),
            logger=_kazoo_log,
            **security.kazoo_options(),
        )
        self._kazoo.add_listener(self._kazoo_state_changed)

    async def connect(self, timeout_ms: int) -> None:
        """Wait for the first connection, and make sure that the chroot exists.

        After ZkTimeoutError the client goes on trying: call again to wait longer, or `close`.
        """
        if not self._started:
            self._started = True
            self._kazoo.start_async()
        waiting = self._session.wait_until_connected()
        waiting.addTimeout(timeout_ms / 1000, self._reactor)
        try:
            await waiting
        except defer.TimeoutError:
            hosts = ",".join(f"{host}:{port}" for host, port in self._kazoo.hosts)
            message = f"no connection to ZooKeeper at {hosts} within {timeout_ms} ms"
            raise ZkTimeoutError(message) from None
        if self._has_login:
            await self._check_login()
        if self._chroot:
            await self._make_chroot()

    async def _check_login(self) -> None:
        # kazoo is connected before the login is through.
        try:
            await self._request("/", lambda: self._kazoo.exists_async("/"))
        except (AuthFailedError, SessionExpiredError):
            raise AuthFailedError("ZooKeeper does not accept the login") from None

    async def close(self) -> None:
        """End the session: its ephemeral znodes vanish at once. Blocking parts run in a thread."""
        if self.state is SessionState.CLOSED:
            return
        self._session.closed()
        self._watches.clear()
        self._background.stop()
        self._fail_pending(ZkClosedError)
        if self._started:
            await deferToThreadPool(self._reactor, self._reactor.getThreadPool(), self._stop_kazoo)

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
        """Create a znode and return its path; `makepath` creates missing parents first."""

        async def create() -> str:
            absolute = with_chroot(self._chroot, path)
            entries = kazoo_values.to_kazoo_acl(acl)
            created: str = await self._request(
                path,
                lambda: self._kazoo.create_async(
                    absolute, data, acl=entries, ephemeral=ephemeral, sequence=sequence
                ),
            )
            return without_chroot(self._chroot, created)

        if not makepath:
            return await create()
        return await create_with_parents(path, create, partial(self.create, acl=acl))

    async def get(self, path: str) -> tuple[bytes | None, Stat]:
        """Read data and stat; sets a watch if a change handler is registered for the path."""
        epoch, watcher = self._session.epoch, self._data_watcher(path)
        absolute = with_chroot(self._chroot, path)
        data, raw = await self._request(path, lambda: self._kazoo.get_async(absolute, watcher))
        stat = kazoo_values.stat_of(raw)
        if watcher:
            self._note_data_watch(path, stat, epoch)
        return data, stat

    async def exists(self, path: str) -> Stat | None:
        """Read the stat, or None; sets a watch if a change handler is registered for the path."""
        epoch, watcher = self._session.epoch, self._data_watcher(path)
        absolute = with_chroot(self._chroot, path)
        raw = await self._request(path, lambda: self._kazoo.exists_async(absolute, watcher))
        stat = kazoo_values.stat_of(raw) if raw is not None else None
        if watcher:
            self._note_data_watch(path, stat, epoch)
        return stat

    async def get_children(self, path: str, *, register_watch: bool = True) -> list[str]:
        """List the names of the children, unsorted; sets a watch if a handler is registered."""
        epoch = self._session.epoch
        watcher = self._child_watcher(path) if register_watch else None
        children, stat = await self._read_children(path, watcher)
        if watcher:
            self._watches.children_watched(path, stat)
            if epoch != self._session.epoch:
                self._look_for_missed_changes(data=[], children=[path])
        return children

    async def set(self, path: str, data: bytes | None, version: int = MATCH_ANY_VERSION) -> Stat:
        """Replace the data if the znode is at this version."""
        absolute = with_chroot(self._chroot, path)
        raw = await self._request(path, lambda: self._kazoo.set_async(absolute, data, version))
        return kazoo_values.stat_of(raw)

    async def delete(self, path: str, version: int = MATCH_ANY_VERSION) -> None:
        """Delete a znode without children if it is at this version."""
        absolute = with_chroot(self._chroot, path)
        await self._request(path, lambda: self._kazoo.delete_async(absolute, version))

    async def get_acl(self, path: str) -> tuple[Acl, ...]:
        """Read the access list."""
        absolute = with_chroot(self._chroot, path)
        entries, _ = await self._request(path, lambda: self._kazoo.get_acls_async(absolute))
        return kazoo_values.from_kazoo_acl(entries)

    async def set_acl(self, path: str, acl: tuple[Acl, ...]) -> None:
        """Replace the access list."""
        absolute, entries = with_chroot(self._chroot, path), kazoo_values.to_kazoo_acl(acl)
        await self._request(path, lambda: self._kazoo.set_acls_async(absolute, entries))

    async def multi(self, ops: Sequence[ZkOp]) -> list[OpResult]:
        """Carry out all operations or none.

        The error raised is that of the operation that was refused; its `op_index` says which.
        """
        transaction = _untyped_transaction(self._kazoo)
        transaction.operations.extend(kazoo_values.to_kazoo_op(op, self._chroot) for op in ops)
        results = await self._request(ops[0].path, transaction.commit_async)
        return kazoo_values.multi_results(results, ops, self._chroot)

    # Requests

    def _request(self, path: str, send: Callable[[], Any]) -> "Deferred[Any]":
        """Hand a request to kazoo; its answer fires the Deferred in the reactor thread."""
        deferred: Deferred[Any] = Deferred(self._forget)
        if self.state is SessionState.CLOSED:
            deferred.errback(ZkClosedError("the ZooKeeper client is closed", path=path))
            return deferred
        self._pending[deferred] = path
        result = send()

        def fire() -> None:
            if self._pending.pop(deferred, None) is None:
                return
            if result.successful():
                deferred.callback(result.value)
            else:
                deferred.errback(kazoo_values.error_of(result.exception, path))

        result.rawlink(lambda _: self._reactor.callFromThread(fire))
        return deferred

    def _forget(self, deferred: "Deferred[Any]") -> None:
        self._pending.pop(deferred, None)

    def _fail_pending(self, error: type[ZkError]) -> None:
        pending, self._pending = self._pending, {}
        for deferred, path in pending.items():
            deferred.errback(error(path=path))

    async def _read_children(
        self, path: str, watcher: Callable[[WatchedEvent], None] | None
    ) -> tuple[list[str], Stat]:
        absolute = with_chroot(self._chroot, path)
        children, raw = await self._request(
            path, lambda: self._kazoo.get_children_async(absolute, watcher, include_data=True)
        )
        return children, kazoo_values.stat_of(raw)

    async def _make_chroot(self) -> None:
        """Create the chroot as Kafka does at start-up; it cannot be named with chroot applied."""

        acl = kazoo_values.to_kazoo_acl(self._chroot_acl)

        def create_empty(path: str) -> "Deferred[str]":
            return self._request(path, lambda: self._kazoo.create_async(path, None, acl=acl))

        try:
            await create_with_parents(
                self._chroot, partial(create_empty, self._chroot), create_empty
            )
        except NodeExistsError:
            return
        log.info("created the ZooKeeper path {chroot}", chroot=self._chroot)

    def _stop_kazoo(self) -> None:
        self._kazoo.stop()
        self._kazoo.close()

    # Watches

    def _data_watcher(self, path: str) -> Callable[[WatchedEvent], None] | None:
        if not self._watches.wants_data(path):
            return None
        return self._data_watchers.setdefault(path, partial(self._kazoo_data_event, path))

    def _child_watcher(self, path: str) -> Callable[[WatchedEvent], None] | None:
        if not self._watches.wants_children(path):
            return None
        return self._child_watchers.setdefault(path, partial(self._kazoo_child_event, path))

    def _kazoo_data_event(self, path: str, event: WatchedEvent) -> None:  # kazoo's thread
        # NONE means that the connection is gone: the session's state tells that better.
        if event.type != EventType.NONE:
            self._reactor.callFromThread(self._data_event, path, event.type)

    def _kazoo_child_event(self, path: str, event: WatchedEvent) -> None:  # kazoo's thread
        # Of a deletion the data watch tells, as in Kafka.
        if event.type == EventType.CHILD:
            self._reactor.callFromThread(self._watches.children_changed, path)

    def _data_event(self, path: str, kind: str) -> None:
        if kind == EventType.CREATED:
            self._watches.created(path)
        elif kind == EventType.DELETED:
            self._watches.deleted(path)
        else:
            self._watches.data_changed(path)

    def _note_data_watch(self, path: str, stat: Stat | None, epoch: int) -> None:
        self._watches.data_watched(path, stat)
        if epoch != self._session.epoch:
            # The connection broke since the question: the watch may be gone already.
            self._look_for_missed_changes(data=[path], children=[])

    def _look_for_missed_changes(self, data: Sequence[str], children: Sequence[str]) -> None:
        for path in data:
            self._background.start(self._recheck_data(path), f"watching {path} again")
        for path in children:
            self._background.start(self._recheck_children(path), f"watching {path} again")

    async def _recheck_data(self, path: str) -> None:
        watcher = self._data_watcher(path)
        if watcher is None:
            return
        absolute = with_chroot(self._chroot, path)
        try:
            raw = await self._request(path, lambda: self._kazoo.exists_async(absolute, watcher))
        except ZkError:
            return  # away again: the next connection looks again; expired: the watch is void
        self._watches.recheck_data(path, kazoo_values.stat_of(raw) if raw is not None else None)

    async def _recheck_children(self, path: str) -> None:
        watcher = self._child_watcher(path)
        if watcher is None:
            return
        try:
            _, stat = await self._read_children(path, watcher)
        except ZkError:
            return  # as above; a deletion is told by the data watch
        self._watches.recheck_children(path, stat)

    # Session

    def _kazoo_state_changed(self, state: str) -> None:  # kazoo's thread
        if self._kazoo.client_state == KeeperState.AUTH_FAILED:
            self._reactor.callFromThread(self._login_refused)
        else:
            self._reactor.callFromThread(self._state_changed, state, self._kazoo.client_id)

    def _login_refused(self) -> None:
        """Take it as final at the start; later a server that dies while it is asked looks alike.

        kazoo gives up in both cases.
        """
        if self.state is SessionState.CONNECTING:
            self._session.refused(AuthFailedError("ZooKeeper does not accept the login"))
        elif self.state is not SessionState.CLOSED:
            log.error("ZooKeeper does not accept the login; trying again")
            if self.state is not SessionState.EXPIRED:
                self._expired()
            self._background.start(self._begin_again(), "logging in to ZooKeeper again")

    async def _begin_again(self) -> None:
        def restart() -> None:
            self._kazoo.stop()
            self._kazoo.start_async()

        await task.deferLater(self._reactor, _LOGIN_PAUSE_S)
        await deferToThreadPool(self._reactor, self._reactor.getThreadPool(), restart)

    def _state_changed(self, state: str, client_id: tuple[int, bytes] | None) -> None:
        if self.state is SessionState.CLOSED:
            return
        if state == KazooState.CONNECTED and client_id is not None:
            self._connected(SessionCredentials(*client_id))
        elif state == KazooState.SUSPENDED:
            self._session.suspended()
        elif state == KazooState.LOST:
            self._expired()

    def _connected(self, credentials: SessionCredentials) -> None:
        is_resumed = self.state is SessionState.SUSPENDED
        self._session.connected(credentials)
        if is_resumed:
            self._look_for_missed_changes(
                self._watches.set_on_data(), self._watches.set_on_children()
            )

    def _expired(self) -> None:
        self._watches.session_expired()
        # kazoo may overlook a request that comes just as it notes the expiry: nobody waits forever.
        self._fail_pending(SessionExpiredError)
        self._session.expired()
