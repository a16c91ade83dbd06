"""How KafkaZkClient asks: again after a lost connection, many at once, fenced by controller epoch.

The part of Kafka's `KafkaZkClient` that knows nothing of Kafka's znodes but `/controller_epoch`.
"""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import TypeAlias, TypeVar

from twisted.internet.defer import DeferredSemaphore

from kafkalike.protocol.errors import ControllerMovedError
from kafkalike.utils.gather import gather
from kafkalike.zk.errors import BadVersionError, ConnectionLossError, NoNodeError, ZkError
from kafkalike.zk.ops import (
    MATCH_ANY_VERSION,
    CheckOp,
    CreateOp,
    DeleteOp,
    OpResult,
    SetDataOp,
    Stat,
    ZkOp,
)
from kafkalike.zk.znodes import ControllerEpochZNode, default_acls
from kafkalike.zk.zookeeper import ZooKeeper

T = TypeVar("T")
WriteOp: TypeAlias = CreateOp | SetDataOp | DeleteOp
DataAndStat: TypeAlias = tuple[bytes | None, Stat]


class ZkRequests:
    """Requests that outlive a lost connection; the base of the client's subjects.

    At most `max_in_flight_requests` are with ZooKeeper at a time, the rest wait in order. With
    `is_secure` (`zookeeper.set.acl`) only brokers may change what is created.
    """

    def __init__(
        self, zk: ZooKeeper, *, is_secure: bool = False, max_in_flight_requests: int = 10
    ) -> None:
        self._zk = zk
        self._is_secure = is_secure
        self._in_flight = DeferredSemaphore(max_in_flight_requests)

    async def _retry_until_connected(self, send: Callable[[], Awaitable[T]]) -> T:
        """Send a request, and again after each lost connection: it may have been carried out twice.

        A session that expires meanwhile is not waited out: whoever asked must look at the world
        again first (SessionExpiredError).
        """
        while True:
            await self._in_flight.acquire()
            try:
                return await send()
            except ConnectionLossError:
                pass
            finally:
                self._in_flight.release()
            await self._zk.wait_until_connected()

    async def _get(self, path: str) -> DataAndStat | None:
        """Read a znode, None if there is none."""
        try:
            return await self._retry_until_connected(partial(self._zk.get, path))
        except NoNodeError:
            return None

    async def _get_all(self, paths: Iterable[str]) -> list[DataAndStat | None]:
        """Read many znodes at once."""
        return await gather([self._get(path) for path in paths])

    async def _multi(self, ops: tuple[ZkOp, ...]) -> list[OpResult]:
        return await self._retry_until_connected(partial(self._zk.multi, ops))

    def _create_op(
        self, path: str, data: bytes | None = None, *, sequence: bool = False
    ) -> CreateOp:
        """Describe a persistent znode to create, with the access list its path calls for."""
        acl = default_acls(self._is_secure, path)
        return CreateOp(path, data, sequence=sequence, acl=acl)

    async def _write(
        self, op: WriteOp, expected_controller_epoch_zk_version: int = MATCH_ANY_VERSION
    ) -> OpResult:
        """Carry out one write; if a version is given, only while that controller is in office.

        ControllerMovedError if another was elected: `/controller_epoch` has a later version.
        """
        if expected_controller_epoch_zk_version == MATCH_ANY_VERSION:
            return await self._retry_until_connected(partial(self._send, op))
        if expected_controller_epoch_zk_version < 0:
            raise ValueError(
                f"the zk version {expected_controller_epoch_zk_version} of "
                f"{ControllerEpochZNode.PATH} is neither {MATCH_ANY_VERSION} nor a version"
            )
        check = CheckOp(ControllerEpochZNode.PATH, expected_controller_epoch_zk_version)
        try:
            _, result = await self._multi((check, op))
        except ZkError as error:
            if error.op_index == 0:
                raise _error_of_check(error, check) from error
            raise
        return result

    async def _write_all(
        self, ops: Iterable[WriteOp], expected_controller_epoch_zk_version: int = MATCH_ANY_VERSION
    ) -> list[OpResult | ZkError]:
        """Carry out many writes at once, each on its own; a refused one gives its error."""

        async def attempt(op: WriteOp) -> OpResult | ZkError:
            try:
                return await self._write(op, expected_controller_epoch_zk_version)
            except ZkError as error:
                return error

        return await gather([attempt(op) for op in ops])

    async def _send(self, op: WriteOp) -> OpResult:
        match op:
            case CreateOp():
                return await self._zk.create(
                    op.path, op.data, ephemeral=op.ephemeral, sequence=op.sequence, acl=op.acl
                )
            case SetDataOp():
                return await self._zk.set(op.path, op.data, op.version)
            case DeleteOp():
                await self._zk.delete(op.path, op.version)
                return None


def _error_of_check(error: ZkError, check: CheckOp) -> Exception:
    if isinstance(error, BadVersionError):
        return ControllerMovedError(
            f"{check.path} is no longer at zk version {check.version}: the controller has moved"
        )
    return ZkError(f"{check.path} could not be checked: {error}", path=check.path)
