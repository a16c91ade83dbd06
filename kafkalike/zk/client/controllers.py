"""`/controller` and `/controller_epoch`: election by whoever is first."""

from typing import NamedTuple

from twisted.logger import Logger

from kafkalike.protocol.errors import ControllerMovedError
from kafkalike.zk.client.tree import TreeClient
from kafkalike.zk.errors import BadVersionError, NodeExistsError, NoNodeError, ZkError
from kafkalike.zk.ops import CreateOp, DeleteOp, SetDataOp, Stat
from kafkalike.zk.znodes import (
    ControllerEpochZNode,
    ControllerInfo,
    ControllerZNode,
    default_acls,
)

log = Logger()


class ControllerEpoch(NamedTuple):
    """An epoch, and the version of its znode that fences the writes of that controller."""

    epoch: int
    zk_version: int


class ControllersClient(TreeClient):
    """Becoming, being and ceasing to be the controller."""

    async def register_controller_and_increment_controller_epoch(
        self, controller_id: int, now_ms: int
    ) -> ControllerEpoch:
        """Take the office and count the epoch up, both or neither.

        ControllerMovedError if another broker was faster.
        """
        current = await self.get_controller_epoch() or await self._maybe_create_controller_epoch()
        epoch = current.epoch + 1
        info = ControllerZNode.encode(ControllerInfo(controller_id, now_ms))
        acl = default_acls(self._is_secure, ControllerZNode.PATH)
        create = CreateOp(ControllerZNode.PATH, info, ephemeral=True, acl=acl)
        increment = SetDataOp(
            ControllerEpochZNode.PATH, ControllerEpochZNode.encode(epoch), current.zk_version
        )
        try:
            _, stat = await self._multi((create, increment))
        except (NodeExistsError, BadVersionError):
            return await self._check_controller_and_epoch(controller_id, epoch)
        assert isinstance(stat, Stat)
        return ControllerEpoch(epoch, stat.version)

    async def get_controller_id(self) -> int | None:
        """Tell who is the controller, if anybody is."""
        found = await self._get(ControllerZNode.PATH)
        return ControllerZNode.decode(found[0]).broker_id if found else None

    async def get_controller_epoch(self) -> ControllerEpoch | None:
        """Tell the epoch of the current (or last) controller."""
        found = await self._get(ControllerEpochZNode.PATH)
        if found is None:
            return None
        data, stat = found
        return ControllerEpoch(ControllerEpochZNode.decode(data), stat.version)

    async def delete_controller(self, expected_controller_epoch_zk_version: int) -> None:
        """Leave the office: brokers elect again."""
        try:
            await self._write(DeleteOp(ControllerZNode.PATH), expected_controller_epoch_zk_version)
        except NoNodeError:
            return

    async def _maybe_create_controller_epoch(self) -> ControllerEpoch:
        initial = ControllerEpochZNode.INITIAL_EPOCH
        data = ControllerEpochZNode.encode(initial)
        try:
            await self._write(self._create_op(ControllerEpochZNode.PATH, data))
        except NodeExistsError:
            if found := await self.get_controller_epoch():
                return found
            raise ZkError(f"{ControllerEpochZNode.PATH} went away while it was read") from None
        log.info("created {path} with epoch {epoch}", path=ControllerEpochZNode.PATH, epoch=initial)
        return ControllerEpoch(initial, ControllerEpochZNode.INITIAL_ZK_VERSION)

    async def _check_controller_and_epoch(self, controller_id: int, epoch: int) -> ControllerEpoch:
        """After a refusal: perhaps our own first try went through and only its answer was lost."""
        holder = await self.get_controller_id()
        if holder is None:
            raise ControllerMovedError(f"{ControllerZNode.PATH} went away during the election")
        current = await self.get_controller_epoch()
        if holder == controller_id and current is not None and current.epoch == epoch:
            return current
        raise ControllerMovedError(f"broker {holder} was elected controller first")
