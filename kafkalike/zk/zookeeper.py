"""ZooKeeper as the rest of the house sees it: what the bridge offers, and the tests' fake as well.

Every coroutine may raise a `ZkError` of `zk/errors.py`. Handlers run in the reactor thread.
"""

from collections.abc import Awaitable, Sequence
from typing import Protocol

from kafkalike.zk.ops import MATCH_ANY_VERSION, OPEN_ACL_UNSAFE, Acl, OpResult, Stat, ZkOp
from kafkalike.zk.session import SessionCredentials, SessionState, StateChangeHandler
from kafkalike.zk.watches import ZNodeChangeHandler, ZNodeChildChangeHandler


class ZooKeeper(Protocol):
    """A ZooKeeper session and its successors. Paths are relative to the chroot, data is bytes."""

    @property
    def state(self) -> SessionState:
        """Where the session is."""

    @property
    def credentials(self) -> SessionCredentials | None:
        """The current session's id and password (the last one's while away)."""

    @property
    def session_id(self) -> int:
        """The current session's id, -1 before the first connection."""

    async def connect(self, timeout_ms: int) -> None:
        """Wait for the first connection, and make sure that the chroot exists.

        After ZkTimeoutError the client goes on trying: call again to wait longer, or `close`.
        """

    def wait_until_connected(self) -> Awaitable[None]:
        """Wait while the connection is away."""

    async def close(self) -> None:
        """End the session: its ephemeral znodes vanish at once."""

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

    async def get(self, path: str) -> tuple[bytes | None, Stat]:
        """Read data and stat; sets a watch if a change handler is registered for the path."""

    async def exists(self, path: str) -> Stat | None:
        """Read the stat, or None; sets a watch if a change handler is registered for the path."""

    async def get_children(self, path: str, *, register_watch: bool = True) -> list[str]:
        """List the names of the children, unsorted; sets a watch if a handler is registered."""

    async def set(self, path: str, data: bytes | None, version: int = MATCH_ANY_VERSION) -> Stat:
        """Replace the data if the znode is at this version."""

    async def delete(self, path: str, version: int = MATCH_ANY_VERSION) -> None:
        """Delete a znode without children if it is at this version."""

    async def get_acl(self, path: str) -> tuple[Acl, ...]:
        """Read the access list."""

    async def multi(self, ops: Sequence[ZkOp]) -> list[OpResult]:
        """Carry out all operations or none.

        The error raised is that of the operation that was refused; its `op_index` says which.
        """

    def register_znode_change_handler(self, handler: ZNodeChangeHandler) -> None:
        """Tell the handler of changes; takes effect with the next `get` or `exists` of its path."""

    def unregister_znode_change_handler(self, path: str) -> None:
        """Forget the handler of this path."""

    def register_znode_child_change_handler(self, handler: ZNodeChildChangeHandler) -> None:
        """Tell the handler of changes; takes effect with the next `get_children` of its path."""

    def unregister_znode_child_change_handler(self, path: str) -> None:
        """Forget the child handler of this path."""

    def register_state_change_handler(self, handler: StateChangeHandler) -> None:
        """Tell the handler of what happens to the session."""

    def unregister_state_change_handler(self, name: str) -> None:
        """Forget the handler of this name."""
