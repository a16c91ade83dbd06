"""The finalized features as this broker knows them, for ApiVersions (`FinalizedFeatureCache`)."""

from collections.abc import Mapping
from types import MappingProxyType

from twisted.logger import Logger

from kafkalike.utils.event_queue import EventQueue
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.errors import ZkError
from kafkalike.zk.session import StateChangeHandler
from kafkalike.zk.watches import ZNodeChangeHandler
from kafkalike.zk.znodes import FeatureStatus, FeatureZNode

log = Logger()

UNKNOWN_EPOCH = -1
_NONE: Mapping[str, tuple[int, int]] = MappingProxyType({})


class FinalizedFeatureCache:
    """Follows `/feature`; its version is the epoch. Without it the epoch is unknown (-1)."""

    def __init__(self, zk: KafkaZkClient) -> None:
        self.epoch = UNKNOWN_EPOCH
        self.features = _NONE
        self._zk = zk
        self._queue: EventQueue[str] = EventQueue(self._read, "features")

    async def startup(self) -> None:
        """Read what there is, and hear of changes."""
        self._zk.register_znode_change_handler(
            ZNodeChangeHandler.for_any_change(FeatureZNode.PATH, self._look_again)
        )
        self._zk.register_state_change_handler(
            StateChangeHandler(
                name=type(self).__name__, after_initializing_session=self._look_again
            )
        )
        # Setting a watch on what is not there yet takes a question about its existence.
        await self._zk.path_exists(FeatureZNode.PATH)
        await self._read("start")

    def shutdown(self) -> None:
        """Hear no more."""
        self._zk.unregister_znode_change_handler(FeatureZNode.PATH)
        self._zk.unregister_state_change_handler(type(self).__name__)
        self._queue.stop()

    def _look_again(self) -> None:
        self._queue.put("changed")

    async def _read(self, why: str) -> None:
        try:
            if not await self._zk.path_exists(FeatureZNode.PATH):
                self.epoch, self.features = UNKNOWN_EPOCH, _NONE
                return
            found, epoch = await self._zk.get_features()
        except ZkError as error:
            log.warn("features could not be read ({why}): {error}", why=why, error=error)
            return
        if found is None or found.status is FeatureStatus.DISABLED:
            self.epoch, self.features = UNKNOWN_EPOCH, _NONE
        else:
            self.epoch, self.features = epoch, dict(found.features)
