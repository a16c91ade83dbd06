"""FakeZooKeeper: an ensemble in memory with as many clients as a test needs.

    fake = FakeZooKeeper()
    zk = fake.connected_client()            # implements kafkalike.zk.zookeeper.ZooKeeper
    zk.suspend(); zk.resume()               # the connection goes away and comes back
    zk.expire()                             # a new session follows at once
    zk.lose_next_answer()                   # carried out, but the connection breaks first
    fake.stop(); fake.start()               # the whole ensemble

Answers come at once, and a change is told to all watching clients before the writer hears of it.
With `FakeZooKeeper(clock, is_delayed=True)` each answer and event takes a millisecond of the clock,
in order: `fake.pump(3)` lets three follow each other. `fake.writes` has every write in the form of
`golden/zk_writes.jsonl`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.task import Clock

from kafkalike.zk.errors import ZkError
from kafkalike.zk.ops import DeleteOp, OpResult, ZkOp
from kafkalike.zk.session import SessionCredentials, SessionState
from tests.support.fake_zk_client import FakeZkClient
from tests.support.fake_zk_tree import Event, Transaction, ZkTree
from tests.support.zk_write_log import ZkWriteLog
from tests.support.znode_schemas import LiveZnode

_FIRST_SESSION_ID = 0x1000
_HOP_S = 0.001


class FakeZooKeeper:
    """The ensemble: znodes, sessions, and the log of writes."""

    def __init__(self, clock: Clock | None = None, *, is_delayed: bool = False) -> None:
        self.clock = clock or Clock()
        self.is_delayed = is_delayed
        self.is_serving = True
        self.tree = ZkTree()
        self.log = ZkWriteLog()
        self._sessions: dict[int, SessionCredentials] = {}
        self._clients: list[FakeZkClient] = []
        self._next_session_id = _FIRST_SESSION_ID
        self._zxid = 0

    @property
    def writes(self) -> list[dict[str, Any]]:
        """All writes so far, as golden/zk_writes.jsonl has them (without zxid and ms)."""
        return self.log.entries

    def client(self, resume: SessionCredentials | None = None) -> FakeZkClient:
        """Make a client that has still to `connect`."""
        client = FakeZkClient(self, resume)
        self._clients.append(client)
        return client

    def connected_client(self) -> FakeZkClient:
        """Make a client with a session."""
        client = self.client()
        client.resume()
        return client

    def pump(self, hops: int = 100) -> None:
        """Let time pass: so many requests, answers or events that wait for each other."""
        self.clock.pump([_HOP_S] * hops)

    def data(self, path: str) -> bytes | None:
        """Read a znode past all clients."""
        return self.tree.find(path).data

    def paths(self) -> list[str]:
        """List all paths, sorted."""
        return self.tree.paths()

    def live_tree(self) -> dict[str, LiveZnode]:
        """Give all znodes in the form that `znode_schemas.validate_tree` takes."""
        return {
            path: LiveZnode(self.tree.find(path).data, self.tree.find(path).owner != 0)
            for path in self.paths()
        }

    def stop(self) -> None:
        """Take the ensemble away: every client loses its connection, no session ends."""
        self.is_serving = False
        for client in list(self._clients):
            client.suspend()

    def start(self) -> None:
        """Bring the ensemble back: clients connect again."""
        self.is_serving = True
        for client in list(self._clients):
            client.resume()

    def end_session(self, session_id: int, *, keeps_ephemerals: bool = False) -> None:
        """End a session: its ephemerals go, and connected clients of it learn that it expired."""
        if self._sessions.pop(session_id, None) is None:
            return
        transaction = self._begin(session_id)
        self.log.close_session(session_id)
        events: list[Event] = []
        for path in [] if keeps_ephemerals else self.tree.owned_by(session_id):
            events += self.tree.apply([DeleteOp(path)], transaction)[1]
        self._tell(events)
        for client in list(self._clients):
            if client.session_id == session_id and client.state is SessionState.CONNECTED:
                self.deliver(client.session_was_ended)

    def begin_session(self) -> SessionCredentials:
        """Make a session."""
        credentials = SessionCredentials(self._next_session_id, b"secret")
        self._next_session_id += 1
        self._sessions[credentials.session_id] = credentials
        self._begin(credentials.session_id)
        self.log.create_session(credentials.session_id)
        return credentials

    def has_session(self, credentials: SessionCredentials) -> bool:
        """Whether a session lives and this is its password."""
        return self._sessions.get(credentials.session_id) == credentials

    def write(self, ops: Sequence[ZkOp], session_id: int, *, is_multi: bool) -> list[OpResult]:
        """Carry out a write, log it and tell the watching clients."""
        transaction = self._begin(session_id)
        try:
            results, events = self.tree.apply(ops, transaction)
        except ZkError as error:
            self.log.refused(session_id, ops, error, is_multi=is_multi)
            if not is_multi:
                error.op_index = None
            raise
        self.log.written(session_id, ops, results, is_multi=is_multi)
        self._tell(events)
        return results

    def forget(self, client: FakeZkClient) -> None:
        """Note that a client is closed."""
        self._clients.remove(client)

    def deliver(self, call: Callable[[], None]) -> None:
        """Let something reach a client: at once, or after what is under way already."""
        if self.is_delayed:
            self.clock.callLater(_HOP_S, call)
        else:
            call()

    def _begin(self, session_id: int) -> Transaction:
        self._zxid += 1
        return Transaction(self._zxid, int(self.clock.seconds() * 1000), session_id)

    def _tell(self, events: Sequence[Event]) -> None:
        for event in events:
            for client in list(self._clients):
                client.tell(event)
