"""What can go wrong with ZooKeeper, as the rest of the house sees it.

The bridge translates kazoo's exceptions into these, the fake of the tests raises them directly. A
request inside a `multi` that failed says with `op_index` which operation was refused.
"""


class ZkError(Exception):
    """ZooKeeper refused a request, or could not be asked."""

    def __init__(self, message: str = "", *, path: str = "", op_index: int | None = None) -> None:
        super().__init__(message or " ".join(filter(None, (type(self).__name__, path))))
        self.path = path
        self.op_index = op_index


class NoNodeError(ZkError):
    """The znode (or the parent of a znode to create) does not exist."""


class NodeExistsError(ZkError):
    """The znode to create exists already."""


class EphemeralHeldError(NodeExistsError):
    """The ephemeral znode to create is held by another session; `data` says by whom."""

    def __init__(self, *, path: str, owner_session_id: int, data: bytes | None) -> None:
        super().__init__(f"{path} is held by session 0x{owner_session_id:x}: {data!r}", path=path)
        self.owner_session_id = owner_session_id
        self.data = data


class BadVersionError(ZkError):
    """The znode was changed in between: its version is not the expected one."""


class NotEmptyError(ZkError):
    """The znode to delete has children."""


class NoChildrenForEphemeralsError(ZkError):
    """An ephemeral znode cannot have children."""


class NoAuthError(ZkError):
    """The znode's ACL does not allow this."""


class InvalidAclError(ZkError):
    """The ACL names a scheme or an identity that ZooKeeper does not know."""


class AuthFailedError(ZkError):
    """ZooKeeper does not believe who we are."""


class ConnectionLossError(ZkError):
    """The connection broke before the answer: the request may or may not have been carried out."""


class SessionExpiredError(ZkError):
    """The session is over: its ephemeral znodes and watches are gone, a new session follows."""


class ZkClosedError(ZkError):
    """The client was closed, or never connected."""


class ZkTimeoutError(ZkError):
    """No connection within the time allowed; the client goes on trying until it is closed."""


class ZkDataError(ZkError):
    """A znode holds data that its codec cannot read."""
