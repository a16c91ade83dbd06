"""The znodes of FakeZooKeeper: ZooKeeper's rules and stats, nothing of sessions or watches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from kafkalike.zk.errors import (
    BadVersionError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    ZkError,
)
from kafkalike.zk.ops import (
    MATCH_ANY_VERSION,
    OPEN_ACL_UNSAFE,
    Acl,
    CheckOp,
    CreateOp,
    DeleteOp,
    OpResult,
    SetDataOp,
    Stat,
    ZkOp,
)
from kafkalike.zk.paths import parent_path


class Change(Enum):
    """What a watch is told of."""

    CREATED = "created"
    DELETED = "deleted"
    DATA = "data changed"
    CHILDREN = "children changed"


class Event(NamedTuple):
    """A change of one znode."""

    change: Change
    path: str


@dataclass(frozen=True, slots=True)
class Znode:
    """One znode; replaced, never changed. `created_children` also numbers sequential ones."""

    data: bytes | None
    acl: tuple[Acl, ...]
    owner: int
    czxid: int
    mzxid: int
    pzxid: int
    ctime: int
    mtime: int
    version: int = 0
    created_children: int = 0


class Transaction(NamedTuple):
    """Who writes, when, and as which transaction of the ensemble."""

    zxid: int
    now_ms: int
    session_id: int


class ZkTree:
    """All znodes. `apply` carries out several operations or none."""

    def __init__(self) -> None:
        self._znodes = {"/": Znode(None, OPEN_ACL_UNSAFE, 0, 0, 0, 0, 0, 0)}
        self._children: dict[str, set[str]] = {"/": set()}
        self._undo: list[Callable[[], object]] = []
        self._events: list[Event] = []

    def __contains__(self, path: str) -> bool:
        return path in self._znodes

    def paths(self) -> list[str]:
        """All paths, sorted."""
        return sorted(self._znodes)

    def find(self, path: str) -> Znode:
        """Give a znode or raise NoNodeError."""
        try:
            return self._znodes[path]
        except KeyError:
            raise NoNodeError(path=path) from None

    def stat(self, path: str) -> Stat:
        """Give a znode's stat or raise NoNodeError."""
        znode, children = self.find(path), len(self._children.get(path, ()))
        return Stat(
            znode.czxid,
            znode.mzxid,
            znode.ctime,
            znode.mtime,
            znode.version,
            # As ZooKeeper: it counts creations and shows creations and deletions.
            znode.created_children * 2 - children,
            0,
            znode.owner,
            len(znode.data or b""),
            children,
            znode.pzxid,
        )

    def children(self, path: str) -> list[str]:
        """List the names of the children or raise NoNodeError."""
        self.find(path)
        return sorted(self._children[path])

    def owned_by(self, session_id: int) -> list[str]:
        """List the ephemeral znodes of a session."""
        return sorted(path for path, znode in self._znodes.items() if znode.owner == session_id)

    def apply(
        self, ops: Sequence[ZkOp], transaction: Transaction
    ) -> tuple[list[OpResult], list[Event]]:
        """Carry out all operations, or none and raise the error of the refused one."""
        self._undo, self._events = [], []
        results: list[OpResult] = []
        for index, op in enumerate(ops):
            try:
                results.append(self._apply_one(op, transaction))
            except ZkError as error:
                for step in reversed(self._undo):
                    step()
                raise type(error)(path=op.path, op_index=index) from None
        return results, self._events

    def _apply_one(self, op: ZkOp, transaction: Transaction) -> OpResult:
        match op:
            case CreateOp():
                return self._create(op, transaction)
            case SetDataOp():
                return self._set(op, transaction)
            case DeleteOp():
                self._delete(op, transaction)
                return None
            case CheckOp():
                self._check_version(op.path, op.version)
                return None

    def _create(self, op: CreateOp, transaction: Transaction) -> str:
        parent = parent_path(op.path) or "/"
        above = self.find(parent)
        path = f"{op.path}{above.created_children:010d}" if op.sequence else op.path
        if path in self._znodes:
            raise NodeExistsError
        if above.owner:
            raise NoChildrenForEphemeralsError
        zxid, now_ms, session_id = transaction
        owner = session_id if op.ephemeral else 0
        self._put(path, Znode(op.data, op.acl, owner, zxid, zxid, zxid, now_ms, now_ms))
        self._children[path] = set()
        count = above.created_children + 1
        self._put(parent, replace(above, pzxid=zxid, created_children=count))
        self._link(parent, path)
        self._events += Event(Change.CREATED, path), Event(Change.CHILDREN, parent)
        return path

    def _set(self, op: SetDataOp, transaction: Transaction) -> Stat:
        znode = self._check_version(op.path, op.version)
        changed = replace(
            znode,
            data=op.data,
            version=znode.version + 1,
            mzxid=transaction.zxid,
            mtime=transaction.now_ms,
        )
        self._put(op.path, changed)
        self._events.append(Event(Change.DATA, op.path))
        return self.stat(op.path)

    def _delete(self, op: DeleteOp, transaction: Transaction) -> None:
        self._check_version(op.path, op.version)
        if self._children[op.path]:
            raise NotEmptyError
        parent = parent_path(op.path) or "/"
        znode = self._znodes.pop(op.path)
        self._undo.append(lambda: self._znodes.update({op.path: znode}))
        self._put(parent, replace(self._znodes[parent], pzxid=transaction.zxid))
        self._unlink(parent, op.path)
        self._events += Event(Change.DELETED, op.path), Event(Change.CHILDREN, parent)

    def _check_version(self, path: str, version: int) -> Znode:
        znode = self.find(path)
        if version not in (MATCH_ANY_VERSION, znode.version):
            raise BadVersionError
        return znode

    def _put(self, path: str, znode: Znode) -> None:
        before = self._znodes.get(path)
        self._znodes[path] = znode
        if before is None:
            self._undo.append(lambda: self._znodes.pop(path))
        else:
            self._undo.append(lambda: self._znodes.update({path: before}))

    def _link(self, parent: str, path: str) -> None:
        name = path.rpartition("/")[2]
        self._children[parent].add(name)
        self._undo.append(lambda: self._children[parent].discard(name))

    def _unlink(self, parent: str, path: str) -> None:
        name = path.rpartition("/")[2]
        self._children[parent].discard(name)
        self._undo.append(lambda: self._children[parent].add(name))
