"""A blocking ZooKeeper client for tests that look at what brokers wrote, or write as tools do."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.retry import KazooRetry

_untyped_client: Any = KazooClient
_untyped_retry: Any = KazooRetry


class ZnodeClient:
    """Reads and writes znodes below the chroot of one cluster."""

    def __init__(self, kazoo: Any) -> None:  # Any: kazoo has no types
        self.kazoo = kazoo

    def data(self, path: str) -> bytes | None:
        """The data of a znode, None if it is not there."""
        try:
            return bytes(self.kazoo.get(path)[0])
        except NoNodeError:
            return None

    def json(self, path: str) -> Any:
        """The JSON in a znode, which must be there."""
        data = self.data(path)
        assert data is not None, f"{path} is not there"
        return json.loads(data)

    def exists(self, path: str) -> bool:
        """Whether the znode is there."""
        return self.kazoo.exists(path) is not None

    def creation_zxid(self, path: str) -> int | None:
        """The zxid that created a znode: of a registration it is the broker's epoch."""
        stat = self.kazoo.exists(path)
        return None if stat is None else int(stat.czxid)

    def children(self, path: str) -> list[str]:
        """The names below a znode, in order."""
        return sorted(self.kazoo.get_children(path))

    def create(self, path: str, data: bytes = b"", *, is_sequence: bool = False) -> None:
        """Create a znode, and its parents if need be."""
        self.kazoo.create(path, data, makepath=True, sequence=is_sequence)


@contextmanager
def znode_client(connect: str) -> Iterator[ZnodeClient]:
    """Connect to an ensemble; what a lost server breaks is tried again."""
    retry = _untyped_retry(max_tries=-1, delay=0.05, max_delay=0.5, deadline=30)
    kazoo = _untyped_client(connect, timeout=10, connection_retry=retry, command_retry=retry)
    kazoo.start(timeout=30)
    try:
        yield ZnodeClient(kazoo)
    finally:
        kazoo.stop()
        kazoo.close()
