"""`/controller` and `/controller_epoch`: who is the controller, and how many there were before."""

from typing import NamedTuple

from kafkalike.zk.errors import ZkDataError
from kafkalike.zk.znodes.json_data import encode_json, reading


class ControllerInfo(NamedTuple):
    """The broker that is the controller, and since when."""

    broker_id: int
    timestamp_ms: int


class ControllerZNode:
    """The controller's ephemeral znode: whoever creates it is elected."""

    PATH = "/controller"

    @staticmethod
    def encode(info: ControllerInfo) -> bytes:
        """Write who is the controller."""
        return encode_json(
            {"version": 1, "brokerid": info.broker_id, "timestamp": str(info.timestamp_ms)}
        )

    @staticmethod
    def decode(data: bytes | None) -> ControllerInfo:
        """Read who is the controller."""
        with reading(data, ControllerZNode.PATH) as value:
            return ControllerInfo(int(value["brokerid"]), int(value.get("timestamp", 0)))


class ControllerEpochZNode:
    """The epoch of the current controller; its version fences every write of a former one."""

    PATH = "/controller_epoch"
    INITIAL_EPOCH = 0
    INITIAL_ZK_VERSION = 0

    @staticmethod
    def encode(epoch: int) -> bytes:
        """Write the epoch as plain digits."""
        return str(epoch).encode()

    @staticmethod
    def decode(data: bytes | None) -> int:
        """Read the epoch."""
        try:
            return int(data or b"")
        except ValueError as error:
            path = ControllerEpochZNode.PATH
            raise ZkDataError(f"{path} holds no epoch: {data!r}", path=path) from error
