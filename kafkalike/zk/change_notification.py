"""Sequential change nodes: news for all brokers about configs, ACLs or delegation tokens.

Kafka's `ZkNodeChangeNotificationListener`. Every child of a root is a piece of news with a number;
each broker reads those with numbers it has not seen, in order, and deletes those that are so old
that every broker must have seen them.
"""

from collections.abc import Awaitable, Callable, Sequence
from enum import Enum

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from kafkalike.utils.event_queue import EventQueue
from kafkalike.utils.gather import gather
from kafkalike.utils.time import Time
from kafkalike.zk.client.tree import TreeClient
from kafkalike.zk.errors import SessionExpiredError, ZkClosedError, ZkDataError, ZkError
from kafkalike.zk.session import StateChangeHandler
from kafkalike.zk.watches import ZNodeChildChangeHandler

log = Logger()

CHANGE_EXPIRATION_MS = 15 * 60 * 1000


class _Event(Enum):
    LOOK_AGAIN = "look again"


class ZkNodeChangeNotificationListener:
    """Hands the data of each new child of `root` to `process_notification`, one after the other.

    A notification that cannot be processed is logged and passed over. `init` begins, `close` ends;
    after a session expired the root is read again, so that nothing is missed.
    """

    def __init__(
        self,
        zk: TreeClient,
        root: str,
        prefix: str,
        process_notification: Callable[[bytes], Awaitable[None]],
        time: Time,
        *,
        change_expiration_ms: int = CHANGE_EXPIRATION_MS,
    ) -> None:
        self._zk = zk
        self._root = root
        self._prefix = prefix
        self._process_notification = process_notification
        self._time = time
        self._change_expiration_ms = change_expiration_ms
        self._last_executed_change = -1
        self._name = f"change-notification-{root}"
        self._queue: EventQueue[_Event] = EventQueue(self._process, f"notifications of {root}")

    def init(self) -> None:
        """Begin to listen, and process what is there already."""
        self._zk.register_state_change_handler(
            StateChangeHandler(name=self._name, after_initializing_session=self._look_again)
        )
        self._zk.register_znode_child_change_handler(
            ZNodeChildChangeHandler(path=self._root, on_child_change=self._look_again)
        )
        self._look_again()

    def close(self) -> None:
        """Stop listening."""
        self._zk.unregister_state_change_handler(self._name)
        self._zk.unregister_znode_child_change_handler(self._root)
        self._queue.stop()

    def _look_again(self) -> None:
        self._queue.put(_Event.LOOK_AGAIN)

    async def _process(self, _: _Event) -> None:
        try:
            names = sorted(filter(self._is_notification, await self._zk.get_children(self._root)))
            for name in names:
                await self._process_if_new(name)
            await self._purge_obsolete_notifications(names)
        except ZkError as error:
            # A lost connection is waited out below: the session is over, and the next looks again.
            log.warn("{root} was not read to its end: {error}", root=self._root, error=error)

    def _is_notification(self, name: str) -> bool:
        return name.startswith(self._prefix) and name.removeprefix(self._prefix).isdecimal()

    async def _process_if_new(self, name: str) -> None:
        change_id = int(name.removeprefix(self._prefix))
        if change_id <= self._last_executed_change:
            return
        path = f"{self._root}/{name}"
        data, _ = await self._zk.get_data_and_stat(path)
        if data is None:
            log.warn("{path} has no data", path=path)
        else:
            await self._hand_over(path, data)
        self._last_executed_change = change_id

    async def _hand_over(self, path: str, data: bytes) -> None:
        try:
            await self._process_notification(data)
        except (CancelledError, SessionExpiredError, ZkClosedError):
            raise
        except ZkDataError as error:
            log.error("{path} is passed over: {error}", path=path, error=error)
        except Exception:  # noqa: BLE001 (the news behind it must still be heard)
            log.failure("{path}: {data!r} could not be processed", path=path, data=data)

    async def _purge_obsolete_notifications(self, names: Sequence[str]) -> None:
        oldest_ms = self._time.now_ms() - self._change_expiration_ms
        paths = [f"{self._root}/{name}" for name in names]
        found = await gather([self._zk.get_data_and_stat(path) for path in paths])
        for path, (_, stat) in zip(paths, found, strict=True):
            if stat is not None and stat.ctime < oldest_ms:
                log.debug("{path} is deleted: every broker has heard of it", path=path)
                await self._zk.delete_path(path)
