"""What the bridge and the tests' fake have in common: the session and the registered handlers."""

from twisted.internet.defer import Deferred

from kafkalike.zk.session import Session, SessionCredentials, SessionState, StateChangeHandler
from kafkalike.zk.watches import Watches, ZNodeChangeHandler, ZNodeChildChangeHandler


class ZkHandlers:
    """The part of `zk/zookeeper.py` that needs no ZooKeeper; a base class."""

    def __init__(self) -> None:
        self._session = Session()
        self._watches = Watches()

    @property
    def state(self) -> SessionState:
        """Where the session is."""
        return self._session.state

    @property
    def credentials(self) -> SessionCredentials | None:
        """The current session's id and password (the last one's while away)."""
        return self._session.credentials

    @property
    def session_id(self) -> int:
        """The current session's id, -1 before the first connection."""
        return self.credentials.session_id if self.credentials else -1

    def wait_until_connected(self) -> "Deferred[None]":
        """Wait while the connection is away."""
        return self._session.wait_until_connected()

    def register_znode_change_handler(self, handler: ZNodeChangeHandler) -> None:
        """Tell the handler of changes; takes effect with the next `get` or `exists` of its path."""
        self._watches.register_change_handler(handler)

    def unregister_znode_change_handler(self, path: str) -> None:
        """Forget the handler of this path."""
        self._watches.unregister_change_handler(path)

    def register_znode_child_change_handler(self, handler: ZNodeChildChangeHandler) -> None:
        """Tell the handler of changes; takes effect with the next `get_children` of its path."""
        self._watches.register_child_change_handler(handler)

    def unregister_znode_child_change_handler(self, path: str) -> None:
        """Forget the child handler of this path."""
        self._watches.unregister_child_change_handler(path)

    def register_state_change_handler(self, handler: StateChangeHandler) -> None:
        """Tell the handler of what happens to the session."""
        self._session.register(handler)

    def unregister_state_change_handler(self, name: str) -> None:
        """Forget the handler of this name."""
        self._session.unregister(name)
