"""`/brokers/ids`: brokers register, and are looked up."""

from typing import Any

from twisted.logger import Logger

from kafkalike.model.broker import Broker
from kafkalike.zk.client.tree import TreeClient
from kafkalike.zk.errors import EphemeralHeldError, NodeExistsError, NoNodeError
from kafkalike.zk.ops import CreateOp, SetDataOp, Stat
from kafkalike.zk.znodes import BrokerIdsZNode, BrokerIdZNode, BrokerInfo, default_acls
from kafkalike.zk.znodes.layout import BROKER_SEQUENCE_ID_PATH

log = Logger()


class BrokersClient(TreeClient):
    """Registration of this broker, and the list of all."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: those of ZkRequests
        super().__init__(*args, **kwargs)
        # The session that holds our registration: if ZooKeeper forgets to delete the znode of an
        # expired session (ZOOKEEPER-2985), we know it for our own (KAFKA-7165).
        self._registered_session_id: int | None = None

    async def register_broker(self, info: BrokerInfo) -> int:
        """Create the broker's ephemeral znode and return the broker epoch: its czxid.

        EphemeralHeldError if another session holds the id: another broker with the same id, or a
        former run of this one whose session has not ended yet.
        """
        path = BrokerIdZNode.path(info.broker.id)
        stat = await self._checked_ephemeral_create(path, BrokerIdZNode.encode(info))
        log.info(
            "broker {id} registered at {path} with {addresses}, broker epoch {epoch}",
            id=info.broker.id,
            path=path,
            addresses=",".join(e.connection_string for e in info.broker.end_points),
            epoch=stat.czxid,
        )
        return stat.czxid

    async def update_broker_info(self, info: BrokerInfo) -> None:
        """Replace what the registration says; the broker epoch stays."""
        path = BrokerIdZNode.path(info.broker.id)
        await self._write(SetDataOp(path, BrokerIdZNode.encode(info)))

    async def get_sorted_broker_list(self) -> list[int]:
        """List the ids of the brokers that are registered."""
        return sorted(int(name) for name in await self.get_children(BrokerIdsZNode.PATH))

    async def get_broker(self, broker_id: int) -> Broker | None:
        """Look a broker up."""
        found = await self._get(BrokerIdZNode.path(broker_id))
        return BrokerIdZNode.decode(broker_id, found[0]).broker if found else None

    async def get_all_brokers_in_cluster(self) -> list[Broker]:
        """List all brokers, by id."""
        return list(await self.get_all_broker_and_epochs_in_cluster())

    async def get_all_broker_and_epochs_in_cluster(self) -> dict[Broker, int]:
        """List all brokers with their epochs, by id."""
        ids = await self.get_sorted_broker_list()
        found = await self._get_all(map(BrokerIdZNode.path, ids))
        return {
            BrokerIdZNode.decode(broker_id, result[0]).broker: result[1].czxid
            for broker_id, result in zip(ids, found, strict=True)
            if result is not None
        }

    async def generate_broker_sequence_id(self) -> int:
        """Draw a number for a broker that has no id: the next version of a znode."""
        draw = SetDataOp(BROKER_SEQUENCE_ID_PATH, b"")
        try:
            stat = await self._write(draw)
        except NoNodeError:
            await self.make_sure_persistent_path_exists(BROKER_SEQUENCE_ID_PATH)
            stat = await self._write(draw)
        assert isinstance(stat, Stat)
        return stat.version

    async def _checked_ephemeral_create(self, path: str, data: bytes) -> Stat:
        """Create an ephemeral znode, or find that this session has created it already."""
        # Two steps in one multi, as Kafka: the answer to a set has the stat that we need.
        create = CreateOp(path, None, ephemeral=True, acl=default_acls(self._is_secure, path))
        while True:
            try:
                _, stat = await self._multi((create, SetDataOp(path, data, 0)))
                assert isinstance(stat, Stat)
                break
            except NodeExistsError:
                if held := await self._held_by_this_session(path):
                    stat = held
                    break
        self._registered_session_id = self.session_id
        return stat

    async def _held_by_this_session(self, path: str) -> Stat | None:
        """Give the stat if this session holds the znode, None if it is gone and may be created."""
        found = await self._get(path)
        if found is None:
            return None
        data, stat = found
        owner = stat.ephemeral_owner
        if owner == self.session_id:
            return stat
        if owner == self._registered_session_id:
            log.info("{path} is left over from our session 0x{id:x}", path=path, id=owner)
            await self.delete_path(path, recursive=False)
            return None
        raise EphemeralHeldError(path=path, owner_session_id=owner, data=data)
