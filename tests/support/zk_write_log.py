"""The writes of FakeZooKeeper in the form of golden/zk_writes.jsonl, ZooKeeper's own log."""

from collections.abc import Sequence
from typing import Any

from kafkalike.zk.errors import (
    BadVersionError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    ZkError,
)
from kafkalike.zk.ops import CheckOp, CreateOp, DeleteOp, OpResult, SetDataOp, Stat, ZkOp

_CODES = {
    NoNodeError: -101,
    BadVersionError: -103,
    NoChildrenForEphemeralsError: -108,
    NodeExistsError: -110,
    NotEmptyError: -111,
}
_ROLLED_BACK_BEFORE_IT_BEGAN = -2  # of operations behind the one that was refused


class ZkWriteLog:
    """Entries as the golden file has them, without `zxid`, `ms` and ACLs."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self._names: dict[int, str] = {}

    def create_session(self, session_id: int) -> None:
        """Note a new session; they are named s0, s1 and so on."""
        self._names[session_id] = f"s{len(self._names)}"
        self._add(session_id, {"op": "createSession"})

    def close_session(self, session_id: int) -> None:
        """Note the end of a session."""
        self._add(session_id, {"op": "closeSession"})

    def written(
        self,
        session_id: int,
        ops: Sequence[ZkOp],
        results: Sequence[OpResult],
        *,
        is_multi: bool,
    ) -> None:
        """Note a write."""
        entries = [_entry(op, result) for op, result in zip(ops, results, strict=True)]
        self._add(session_id, {"op": "multi", "ops": entries} if is_multi else entries[0])

    def refused(
        self, session_id: int, ops: Sequence[ZkOp], error: ZkError, *, is_multi: bool
    ) -> None:
        """Note a write that was refused."""
        entry = {"op": "error", "error": _CODES[type(error)]}
        if is_multi:
            index = error.op_index or 0
            before = [_entry(op, None) for op in ops[:index]]
            behind = [{"op": "error", "error": _ROLLED_BACK_BEFORE_IT_BEGAN}] * (
                len(ops) - index - 1
            )
            entry = {"op": "multi", "ops": [*before, entry, *behind]}
        self._add(session_id, entry)

    def _add(self, session_id: int, entry: dict[str, Any]) -> None:
        self.entries.append({"session": self._names[session_id], **entry})


def _entry(op: ZkOp, result: OpResult) -> dict[str, Any]:
    match op:
        case CreateOp():
            path = result if isinstance(result, str) else op.path
            data = _text(op.data)
            return {"op": "create", "path": path, "data": data, "ephemeral": op.ephemeral}
        case SetDataOp():
            # As ZooKeeper logs it: the version after the write.
            version = result.version if isinstance(result, Stat) else op.version + 1
            entry = {"op": "setData", "path": op.path, "data": _text(op.data)}
            return {**entry, "version": version}
        case DeleteOp():
            return {"op": "delete", "path": op.path}
        case CheckOp():
            return {"op": "check", "path": op.path, "version": op.version + 1}


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()
