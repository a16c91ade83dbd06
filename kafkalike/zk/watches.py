"""Who wants to hear of changes of which znode, and which watches are set in ZooKeeper for that.

Part of Kafka's `ZooKeeperClient`: a handler stays registered for its path; reading the path (`get`,
`exists`, `get_children`) sets ZooKeeper's one-shot watch, and the handler's own re-read sets the
next one. A handler is told *that* something changed, never what: it looks again.
"""

from collections.abc import Callable
from dataclasses import dataclass

from twisted.logger import Logger

from kafkalike.zk.ops import Stat

log = Logger()


def _nothing() -> None:
    """Do nothing: what a handler does about an event it does not care for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZNodeChangeHandler:
    """What to do when the znode at `path` comes, goes or gets other data."""

    path: str
    on_creation: Callable[[], None] = _nothing
    on_deletion: Callable[[], None] = _nothing
    on_data_change: Callable[[], None] = _nothing

    @classmethod
    def for_any_change(cls, path: str, look_again: Callable[[], None]) -> "ZNodeChangeHandler":
        """Make a handler that does the same whatever happened."""
        return cls(
            path=path, on_creation=look_again, on_deletion=look_again, on_data_change=look_again
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ZNodeChildChangeHandler:
    """What to do when children of the znode at `path` come or go (their data is another matter)."""

    path: str
    on_child_change: Callable[[], None]


class Watches:
    """The registered handlers, and what was last seen where a watch is set.

    What was seen matters after a lost connection: kazoo forgets its watches then, so the bridge
    reads again and `recheck_*` calls the handler only if something did change meanwhile, which is
    what ZooKeeper does for its own client.
    """

    def __init__(self) -> None:
        self._change_handlers: dict[str, ZNodeChangeHandler] = {}
        self._child_handlers: dict[str, ZNodeChildChangeHandler] = {}
        self._data_seen: dict[str, int | None] = {}
        self._children_seen: dict[str, int] = {}

    def register_change_handler(self, handler: ZNodeChangeHandler) -> None:
        """Tell this handler of changes, from the next read of its path on."""
        self._change_handlers[handler.path] = handler

    def unregister_change_handler(self, path: str) -> None:
        """Tell nobody of changes of this znode any more."""
        self._change_handlers.pop(path, None)
        self._data_seen.pop(path, None)

    def register_child_change_handler(self, handler: ZNodeChildChangeHandler) -> None:
        """Tell this handler of changes, from the next read of the children of its path on."""
        self._child_handlers[handler.path] = handler

    def unregister_child_change_handler(self, path: str) -> None:
        """Tell nobody of changed children of this znode any more."""
        self._child_handlers.pop(path, None)
        self._children_seen.pop(path, None)

    def wants_data(self, path: str) -> bool:
        """Whether a read of this znode should set a watch."""
        return path in self._change_handlers

    def wants_children(self, path: str) -> bool:
        """Whether a read of this znode's children should set a watch."""
        return path in self._child_handlers

    def data_watched(self, path: str, stat: Stat | None) -> None:
        """Note that a data watch was set, and what was there (None: no znode)."""
        if path in self._change_handlers:
            self._data_seen[path] = stat and stat.mzxid

    def children_watched(self, path: str, stat: Stat) -> None:
        """Note that a child watch was set, and what was there."""
        if path in self._child_handlers:
            self._children_seen[path] = stat.pzxid

    def set_on_data(self) -> list[str]:
        """The paths with a data watch."""
        return list(self._data_seen)

    def set_on_children(self) -> list[str]:
        """The paths with a child watch."""
        return list(self._children_seen)

    def created(self, path: str) -> None:
        """Tell the handler that the znode was created."""
        self._data_seen.pop(path, None)
        if handler := self._change_handlers.get(path):
            _call(handler.on_creation, path)

    def deleted(self, path: str) -> None:
        """Tell the handler that the znode was deleted."""
        self._data_seen.pop(path, None)
        if handler := self._change_handlers.get(path):
            _call(handler.on_deletion, path)

    def data_changed(self, path: str) -> None:
        """Tell the handler that the znode has other data."""
        self._data_seen.pop(path, None)
        if handler := self._change_handlers.get(path):
            _call(handler.on_data_change, path)

    def children_changed(self, path: str) -> None:
        """Tell the handler that the znode has other children."""
        self._children_seen.pop(path, None)
        if handler := self._child_handlers.get(path):
            _call(handler.on_child_change, path)

    def recheck_data(self, path: str, stat: Stat | None) -> None:
        """After a read that set the watch anew: tell the handler what it missed, if anything."""
        if path not in self._data_seen:
            return
        before = self._data_seen[path]
        now = stat and stat.mzxid
        if before is None and now is not None:
            self.created(path)
        elif before is not None and now is None:
            self.deleted(path)
        elif before != now:
            self.data_changed(path)

    def recheck_children(self, path: str, stat: Stat | None) -> None:
        """After a read that set the watch anew: tell the handler if it missed something."""
        before = self._children_seen.get(path)
        if before is not None and stat is not None and before != stat.pzxid:
            self.children_changed(path)

    def session_expired(self) -> None:
        """Note that ZooKeeper forgot all watches; the handlers stay."""
        self._data_seen.clear()
        self._children_seen.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.session_expired()
        self._change_handlers.clear()
        self._child_handlers.clear()


def _call(handler: Callable[[], None], path: str) -> None:
    try:
        handler()
    except Exception:  # noqa: BLE001 (a handler's bug must not stop the events behind it)
        log.failure("the change handler of {path} failed", path=path)
