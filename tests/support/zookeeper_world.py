"""Two worlds for the same tests: FakeZooKeeper, and the bridge to a real ensemble."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from kafkalike.zk.bridge import ZkBridge
from kafkalike.zk.session import SessionCredentials
from kafkalike.zk.zookeeper import ZooKeeper
from tests.support.fake_zookeeper import FakeZooKeeper
from tests.support.reactor_thread import REACTOR, ReactorThread, until
from tests.support.run import result_of, start

T = TypeVar("T")
SESSION_TIMEOUT_MS = 6000
_chroots = itertools.count(1)


class ZooKeeperWorld(ABC):
    """Clients of one ensemble in an empty tree, and a way to run coroutines that use them."""

    @abstractmethod
    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end."""

    @abstractmethod
    async def client(self, resume: SessionCredentials | None = None) -> ZooKeeper:
        """Make a connected client."""

    @abstractmethod
    async def until(self, condition: Callable[[], Any], what: str) -> None:
        """Wait until something is true."""

    @abstractmethod
    async def settle(self, zk: ZooKeeper) -> None:
        """Wait until every event of the past has reached this client."""

    @abstractmethod
    def close(self) -> None:
        """Close all clients."""

    async def expire(self, zk: ZooKeeper) -> None:
        """Let a session expire: another client takes it over and ends it."""
        before = zk.credentials
        assert before is not None
        usurper = await self.client(resume=before)
        await usurper.close()
        await self.until(
            lambda: zk.credentials not in (None, before) and zk.state.name == "CONNECTED",
            "a new session",
        )


class FakeWorld(ZooKeeperWorld):
    """FakeZooKeeper, with answers that take a moment as real ones do."""

    def __init__(self) -> None:
        self.fake = FakeZooKeeper(is_delayed=True)
        self._clients: list[ZooKeeper] = []

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end."""
        running = start(coroutine)
        self.fake.pump(200)
        return result_of(running)

    async def client(self, resume: SessionCredentials | None = None) -> ZooKeeper:
        """Make a connected client."""
        client = self.fake.client(resume)
        await client.connect(1000)
        return client

    async def until(self, condition: Callable[[], Any], what: str) -> None:
        """Wait until something is true: at most until all is quiet."""
        for _ in range(20):
            if condition():
                return
            await (await self._watcher()).exists("/")
        raise AssertionError(f"{what} did not come true")

    async def settle(self, zk: ZooKeeper) -> None:
        """Wait until every event of the past has reached this client."""
        await zk.exists("/")

    def close(self) -> None:
        """Nothing is open."""

    async def _watcher(self) -> ZooKeeper:
        if not self._clients:
            self._clients.append(await self.client())
        return self._clients[0]


class BridgeWorld(ZooKeeperWorld):
    """The real thing; each world is a chroot of its own.

    All clients are with one server: of two servers one may still show what was, for a moment.
    """

    def __init__(self, connect_string: str, thread: ReactorThread) -> None:
        server = connect_string.partition(",")[0]
        self._connect_string = f"{server}/contract-{next(_chroots)}"
        self._thread = thread
        self._clients: list[ZkBridge] = []

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end."""
        return self._thread.run(coroutine)

    async def client(self, resume: SessionCredentials | None = None) -> ZooKeeper:
        """Make a connected client."""
        client = ZkBridge(
            REACTOR, self._connect_string, session_timeout_ms=SESSION_TIMEOUT_MS, resume=resume
        )
        self._clients.append(client)
        await client.connect(15_000)
        return client

    async def until(self, condition: Callable[[], Any], what: str) -> None:
        """Wait until something is true."""
        await until(condition, what)

    async def settle(self, zk: ZooKeeper) -> None:
        """Wait until every event of the past has reached this client.

        ZooKeeper sends events and answers in order, kazoo passes them on through two threads: a
        second question gives the slower one time.
        """
        await zk.exists("/")
        await zk.exists("/")

    def close(self) -> None:
        """Close all clients."""
        for client in self._clients:
            self.run(client.close())
