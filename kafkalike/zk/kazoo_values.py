"""kazoo's values and exceptions to ours and back: where kazoo's untyped surface ends."""

from collections.abc import Iterable, Sequence
from typing import Any

from kazoo import exceptions as kazoo_errors
from kazoo.protocol import serialization
from kazoo.security import ACL, Id

from kafkalike.zk import errors
from kafkalike.zk.ops import Acl, CheckOp, CreateOp, DeleteOp, OpResult, SetDataOp, Stat, ZkOp
from kafkalike.zk.paths import with_chroot, without_chroot

_EPHEMERAL, _SEQUENCE = 1, 2

# A server that insists on SASL refuses a wrong password by this code: kazoo's thread dies of the
# exception that it has for it, and knows what to do about the other one.
_SESSION_CLOSED_REQUIRE_SASL = -124
kazoo_errors.EXCEPTIONS[_SESSION_CLOSED_REQUIRE_SASL] = kazoo_errors.AuthFailedError

_ERRORS: tuple[tuple[type[Exception], type[errors.ZkError]], ...] = (
    (kazoo_errors.NoNodeError, errors.NoNodeError),
    (kazoo_errors.NodeExistsError, errors.NodeExistsError),
    (kazoo_errors.BadVersionError, errors.BadVersionError),
    (kazoo_errors.NotEmptyError, errors.NotEmptyError),
    (kazoo_errors.NoChildrenForEphemeralsError, errors.NoChildrenForEphemeralsError),
    (kazoo_errors.NoAuthError, errors.NoAuthError),
    (kazoo_errors.InvalidACLError, errors.InvalidAclError),
    (kazoo_errors.AuthFailedError, errors.AuthFailedError),
    # A kind of SessionExpiredError in kazoo, so it must stand before it.
    (kazoo_errors.ConnectionClosedError, errors.ZkClosedError),
    (kazoo_errors.SessionExpiredError, errors.SessionExpiredError),
    (kazoo_errors.ConnectionLoss, errors.ConnectionLossError),
    (kazoo_errors.OperationTimeoutError, errors.ConnectionLossError),
)


def error_of(error: BaseException, path: str, op_index: int | None = None) -> errors.ZkError:
    """Give our error for one of kazoo's."""
    for theirs, ours in _ERRORS:
        if isinstance(error, theirs):
            return ours(path=path, op_index=op_index)
    return errors.ZkError(f"{path}: {error!r}", path=path, op_index=op_index)


def stat_of(raw: Any) -> Stat:  # Any: kazoo's ZnodeStat, untyped
    """Give our stat for kazoo's; the fields come in the same order."""
    return Stat(*raw)


def to_kazoo_acl(entries: Iterable[Acl]) -> list[ACL]:
    """Give kazoo's access list."""
    return [ACL(entry.perms, Id(entry.scheme, entry.id)) for entry in entries]


def from_kazoo_acl(entries: Iterable[ACL]) -> tuple[Acl, ...]:
    """Give our access list."""
    return tuple(Acl(entry.perms, entry.id.scheme, entry.id.id) for entry in entries)


def to_kazoo_op(op: ZkOp, chroot: str) -> Any:  # Any: kazoo's requests have no common type
    """Give kazoo's request; unlike kazoo's own builder this lets a znode have no data at all."""
    path = with_chroot(chroot, op.path)
    match op:
        case CreateOp():
            flags = _EPHEMERAL * op.ephemeral | _SEQUENCE * op.sequence
            return serialization.Create(path, op.data, to_kazoo_acl(op.acl), flags)
        case SetDataOp():
            return serialization.SetData(path, op.data, op.version)
        case DeleteOp():
            return serialization.Delete(path, op.version)
        case CheckOp():
            return serialization.CheckVersion(path, op.version)


def multi_results(results: Sequence[Any], ops: Sequence[ZkOp], chroot: str) -> list[OpResult]:
    """Give each operation's result, or raise the error of the one that made the rest fail."""
    others = (kazoo_errors.RolledBackError, kazoo_errors.RuntimeInconsistency)
    for index, (result, op) in enumerate(zip(results, ops, strict=True)):
        if isinstance(result, Exception) and not isinstance(result, others):
            raise error_of(result, op.path, index)
    return [_op_result(result, op, chroot) for result, op in zip(results, ops, strict=True)]


def _op_result(result: Any, op: ZkOp, chroot: str) -> OpResult:
    match op:
        case CreateOp():
            return without_chroot(chroot, result)
        case SetDataOp():
            return stat_of(result)
        case DeleteOp() | CheckOp():
            return None
