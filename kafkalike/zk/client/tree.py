"""Any znode, by its path: read, create with parents, delete with children, watch."""

from functools import partial

from kafkalike.zk.client.requests import ZkRequests
from kafkalike.zk.errors import BadVersionError, NodeExistsError, NoNodeError
from kafkalike.zk.ops import MATCH_ANY_VERSION, UNKNOWN_VERSION, Acl, DeleteOp, SetDataOp, Stat
from kafkalike.zk.recursive import create_with_parents
from kafkalike.zk.session import SessionState, StateChangeHandler
from kafkalike.zk.watches import ZNodeChangeHandler, ZNodeChildChangeHandler


class TreeClient(ZkRequests):
    """What does not depend on what a znode means."""

    @property
    def state(self) -> SessionState:
        """Where the ZooKeeper session is."""
        return self._zk.state

    @property
    def session_id(self) -> int:
        """The current session's id, -1 before the first connection."""
        return self._zk.session_id

    async def close(self) -> None:
        """End the session: its ephemeral znodes vanish at once."""
        await self._zk.close()

    async def path_exists(self, path: str) -> bool:
        """Whether there is a znode; sets a watch if a change handler is registered for it."""
        stat = await self._retry_until_connected(partial(self._zk.exists, path))
        return stat is not None

    async def get_children(self, path: str, *, register_watch: bool = True) -> list[str]:
        """List the names of the children, none if there is no znode."""
        send = partial(self._zk.get_children, path, register_watch=register_watch)
        try:
            return await self._retry_until_connected(send)
        except NoNodeError:
            return []

    async def get_data_and_stat(self, path: str) -> tuple[bytes | None, Stat | None]:
        """Read data and stat; (None, None) if there is no znode."""
        return await self._get(path) or (None, None)

    async def get_data_and_version(self, path: str) -> tuple[bytes | None, int]:
        """Read data and version; (None, UNKNOWN_VERSION) if there is no znode."""
        data, stat = await self.get_data_and_stat(path)
        return data, UNKNOWN_VERSION if stat is None else stat.version

    async def get_acl(self, path: str) -> tuple[Acl, ...]:
        """Read the access list."""
        return await self._retry_until_connected(partial(self._zk.get_acl, path))

    async def create_recursive(self, path: str, data: bytes | None = None) -> None:
        """Create a znode and the parents that are missing; NodeExistsError if it is there."""

        async def create_empty(parent: str) -> str:
            return str(await self._write(self._create_op(parent)))

        async def create() -> str:
            return str(await self._write(self._create_op(path, data)))

        await create_with_parents(path, create, create_empty)

    async def make_sure_persistent_path_exists(self, path: str) -> None:
        """Create an empty znode and its parents unless they are there."""
        try:
            await self.create_recursive(path)
        except NodeExistsError:
            return

    async def create_sequential_persistent_path(self, path: str, data: bytes | None) -> str:
        """Create a znode whose name ZooKeeper ends with the next number, and give its path."""
        return str(await self._write(self._create_op(path, data, sequence=True)))

    async def conditional_update_path(
        self, path: str, data: bytes | None, expected_version: int
    ) -> int | None:
        """Replace the data if the znode is at this version; the new version, or None."""
        try:
            stat = await self._write(SetDataOp(path, data, expected_version))
        except (BadVersionError, NoNodeError):
            return None
        assert isinstance(stat, Stat)
        return stat.version

    async def delete_path(
        self,
        path: str,
        expected_controller_epoch_zk_version: int = MATCH_ANY_VERSION,
        *,
        recursive: bool = True,
    ) -> None:
        """Delete a znode if it is there, with all that is below unless `recursive` is false."""
        if recursive:
            await self.delete_recursive(path, expected_controller_epoch_zk_version)
            return
        try:
            await self._write(DeleteOp(path), expected_controller_epoch_zk_version)
        except NoNodeError:
            return

    async def delete_recursive(
        self, path: str, expected_controller_epoch_zk_version: int = MATCH_ANY_VERSION
    ) -> bool:
        """Delete a znode and all below it, one by one as Kafka; False if it is not there."""
        try:
            children = await self._retry_until_connected(partial(self._zk.get_children, path))
        except NoNodeError:
            return False
        for child in sorted(children):
            await self.delete_recursive(f"{path}/{child}", expected_controller_epoch_zk_version)
        await self.delete_path(path, expected_controller_epoch_zk_version, recursive=False)
        return True

    async def register_znode_change_handler_and_check_existence(
        self, handler: ZNodeChangeHandler
    ) -> bool:
        """Tell the handler of changes from now on, of a znode's creation too; is it there now?"""
        self._zk.register_znode_change_handler(handler)
        return await self.path_exists(handler.path)

    def register_znode_change_handler(self, handler: ZNodeChangeHandler) -> None:
        """Tell the handler of changes; takes effect with the next read of its path."""
        self._zk.register_znode_change_handler(handler)

    def unregister_znode_change_handler(self, path: str) -> None:
        """Forget the handler of this path."""
        self._zk.unregister_znode_change_handler(path)

    def register_znode_child_change_handler(self, handler: ZNodeChildChangeHandler) -> None:
        """Tell the handler of changes; takes effect with the next read of its path's children."""
        self._zk.register_znode_child_change_handler(handler)

    def unregister_znode_child_change_handler(self, path: str) -> None:
        """Forget the child handler of this path."""
        self._zk.unregister_znode_child_change_handler(path)

    def register_state_change_handler(self, handler: StateChangeHandler) -> None:
        """Tell the handler of what happens to the session."""
        self._zk.register_state_change_handler(handler)

    def unregister_state_change_handler(self, name: str) -> None:
        """Forget the handler of this name."""
        self._zk.unregister_state_change_handler(name)
