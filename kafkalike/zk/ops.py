"""The values that go to ZooKeeper and come back: stats, ACLs, and the operations of a `multi`."""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

MATCH_ANY_VERSION = -1
UNKNOWN_VERSION = -2


class Stat(NamedTuple):
    """What ZooKeeper keeps beside a znode's data; the names are ZooKeeper's."""

    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    aversion: int
    ephemeral_owner: int
    data_length: int
    num_children: int
    pzxid: int


class Acl(NamedTuple):
    """One entry of a znode's access list: permission bits (rwcda = 31), scheme and identity."""

    perms: int
    scheme: str
    id: str


READ, WRITE, CREATE, DELETE, ADMIN = 1, 2, 4, 8, 16
ALL = READ | WRITE | CREATE | DELETE | ADMIN
OPEN_ACL_UNSAFE = (Acl(ALL, "world", "anyone"),)
CREATOR_ALL_ACL = (Acl(ALL, "auth", ""),)
READ_ACL_UNSAFE = (Acl(READ, "world", "anyone"),)


@dataclass(frozen=True, slots=True)
class CreateOp:
    """Create a znode; with `sequence` ZooKeeper appends ten digits to the path."""

    path: str
    data: bytes | None = None
    ephemeral: bool = False
    sequence: bool = False
    acl: tuple[Acl, ...] = OPEN_ACL_UNSAFE


@dataclass(frozen=True, slots=True)
class SetDataOp:
    """Replace a znode's data if it is at this version."""

    path: str
    data: bytes | None
    version: int = MATCH_ANY_VERSION


@dataclass(frozen=True, slots=True)
class DeleteOp:
    """Delete a znode if it is at this version."""

    path: str
    version: int = MATCH_ANY_VERSION


@dataclass(frozen=True, slots=True)
class CheckOp:
    """Let the whole `multi` fail unless the znode is at this version."""

    path: str
    version: int


ZkOp: TypeAlias = CreateOp | SetDataOp | DeleteOp | CheckOp
# The path that was created, the stat after a set; nothing for a delete or a check.
OpResult: TypeAlias = str | Stat | None
