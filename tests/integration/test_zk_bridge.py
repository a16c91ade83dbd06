"""The bridge and the client when servers of a real ensemble come and go."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkalike.utils.time import Time
from kafkalike.zk.bridge import ZkBridge
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.embedded.server import ZooKeeperServer
from kafkalike.zk.errors import ZkTimeoutError
from kafkalike.zk.session import SessionState, StateChangeHandler
from kafkalike.zk.watches import ZNodeChangeHandler, ZNodeChildChangeHandler
from tests.support.ensemble import Ensemble, ensemble_config, start_ensemble
from tests.support.ports import free_port
from tests.support.reactor_thread import REACTOR, ReactorThread, until

pytestmark = pytest.mark.ensemble

LONGEST_SESSION_MS = 10_000  # what the tests' ensemble grants at most
SHORTEST_SESSION_MS = 1_000
_numbers = itertools.count(1)

MakeBridge = Callable[..., ZkBridge]


@pytest.fixture(scope="module")
def own_ensemble(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ensemble]:
    """Three servers that these tests may kill."""
    ensemble = start_ensemble(tmp_path_factory.mktemp("own-zookeeper"), 3)
    yield ensemble
    ensemble.stop()


@pytest.fixture
def fragile(own_ensemble: Ensemble) -> Iterator[Ensemble]:
    """The same, all servers up before and after."""
    yield own_ensemble
    for server in own_ensemble.servers:
        if not server.is_running:
            server.start()
    own_ensemble.wait_until_serving()


@pytest.fixture
def make_bridge(reactor_thread: ReactorThread) -> Iterator[MakeBridge]:
    """Make bridges that are closed at the end."""
    made: list[ZkBridge] = []

    def make(connect_string: str, session_timeout_ms: int = LONGEST_SESSION_MS) -> ZkBridge:
        bridge = ZkBridge(REACTOR, connect_string, session_timeout_ms=session_timeout_ms)
        made.append(bridge)
        return bridge

    yield make
    for bridge in made:
        reactor_thread.run(bridge.close())


def at(server: ZooKeeperServer, chroot: str) -> str:
    return f"127.0.0.1:{server.port}{chroot}"


def followers(ensemble: Ensemble) -> list[ZooKeeperServer]:
    """The two servers that can go without an election."""
    return [server for server in ensemble.servers if server != ensemble.leader]


@pytest.fixture
def chroot() -> str:
    return f"/bridge-{next(_numbers)}"


def test_request_waits_for_a_server_that_restarts(
    fragile: Ensemble, chroot: str, make_bridge: MakeBridge, reactor_thread: ReactorThread
) -> None:
    """ZooKeeper away is waited out within the session, and all works again after."""
    server, _ = followers(fragile)
    zk = make_bridge(at(server, chroot))
    heard: list[str] = []
    zk.register_state_change_handler(
        StateChangeHandler(
            name="test",
            on_suspended=lambda: heard.append("suspended"),
            on_resumed=lambda: heard.append("resumed"),
            before_initializing_session=lambda: heard.append("expired"),
        )
    )
    client = KafkaZkClient(zk)
    reactor_thread.run(zk.connect(15_000))
    reactor_thread.run(zk.create("/e", b"1", ephemeral=True))
    session_id = zk.session_id
    server.kill()
    reactor_thread.run(until(lambda: heard == ["suspended"], "the loss of the connection"))
    assert zk.state is SessionState.SUSPENDED

    async def ask_while_away() -> tuple[bytes | None, int]:
        REACTOR.callInThread(server.start)
        return await client.get_data_and_version("/e")

    assert reactor_thread.run(ask_while_away()) == (b"1", 0)
    reactor_thread.run(until(lambda: heard == ["suspended", "resumed"], "the return"))
    assert zk.session_id == session_id


def test_change_during_an_absence_is_heard_of_after_it(
    fragile: Ensemble, chroot: str, make_bridge: MakeBridge, reactor_thread: ReactorThread
) -> None:
    server, elsewhere = followers(fragile)
    zk, other = make_bridge(at(server, chroot)), make_bridge(at(elsewhere, chroot))
    heard: list[str] = []

    async def watch() -> None:
        await zk.connect(15_000)
        await other.connect(15_000)
        for path in ("/data", "/children", "/quiet"):
            await zk.create(path)
            zk.register_znode_change_handler(
                ZNodeChangeHandler.for_any_change(path, lambda path=path: heard.append(path))  # type: ignore[misc]
            )
            zk.register_znode_child_change_handler(
                ZNodeChildChangeHandler(
                    path=path,
                    on_child_change=lambda path=path: heard.append(f"{path}/"),  # type: ignore[misc]
                )
            )
            await zk.exists(path)
            await zk.get_children(path)
        zk.register_znode_change_handler(
            ZNodeChangeHandler(path="/new", on_creation=lambda: heard.append("/new"))
        )
        await zk.exists("/new")

    async def change_meanwhile() -> None:
        await until(lambda: zk.state is SessionState.SUSPENDED, "the loss of the connection")
        await other.set("/data", b"1")
        await other.create("/children/1")
        await other.create("/new")

    async def look_after() -> None:
        await until(lambda: zk.state is SessionState.CONNECTED, "the return")
        await until(lambda: sorted(heard) == ["/children/", "/data", "/new"], "what was missed")
        await other.set("/quiet", b"1")
        await other.create("/quiet/1")
        await until(lambda: sorted(heard[3:]) == ["/quiet", "/quiet/"], "what came after")

    reactor_thread.run(watch())
    server.kill()
    reactor_thread.run(change_meanwhile())
    server.start()
    reactor_thread.run(look_after())


def test_session_that_expired_during_an_absence_is_replaced(
    fragile: Ensemble, chroot: str, make_bridge: MakeBridge, reactor_thread: ReactorThread
) -> None:
    """M65: a broker's session is its heartbeat; without it the registration vanishes."""
    server, elsewhere = followers(fragile)
    zk = make_bridge(at(server, chroot), SHORTEST_SESSION_MS)
    other = make_bridge(at(elsewhere, chroot))
    heard: list[str] = []
    zk.register_state_change_handler(
        StateChangeHandler(
            name="test",
            before_initializing_session=lambda: heard.append("before"),
            after_initializing_session=lambda: heard.append("after"),
        )
    )

    async def register() -> None:
        await zk.connect(15_000)
        await other.connect(15_000)
        await zk.create("/e", ephemeral=True)

    async def vanished() -> None:
        while await other.exists("/e"):
            await Time(REACTOR).sleep_ms(50)

    reactor_thread.run(register())
    before = zk.session_id
    server.kill()
    reactor_thread.run(vanished())
    server.start()
    reactor_thread.run(until(lambda: heard == ["before", "after"], "a new session"))
    assert zk.session_id != before
    reactor_thread.run(zk.create("/e", ephemeral=True))


def test_client_goes_to_another_server_when_its_own_dies(
    fragile: Ensemble, chroot: str, make_bridge: MakeBridge, reactor_thread: ReactorThread
) -> None:
    """M73: the ensemble's leader dies; the session and its ephemerals live on."""
    zk = make_bridge(f"{fragile.connect_string}{chroot}")
    reactor_thread.run(zk.connect(15_000))
    reactor_thread.run(zk.create("/e", b"1", ephemeral=True))
    session_id = zk.session_id
    leader = fragile.leader
    assert leader is not None
    leader.kill()
    client = KafkaZkClient(zk)
    reactor_thread.run(client.create_recursive("/after"))
    assert reactor_thread.run(client.get_data_and_version("/e")) == (b"1", 0)
    assert zk.session_id == session_id


def test_no_server_is_told_with_its_address_and_waited_for(
    make_bridge: MakeBridge, reactor_thread: ReactorThread
) -> None:
    port = free_port()
    zk = make_bridge(f"127.0.0.1:{port}")
    with pytest.raises(ZkTimeoutError, match=f"127.0.0.1:{port} within 50 ms"):
        reactor_thread.run(zk.connect(50))
    with pytest.raises(ZkTimeoutError):
        reactor_thread.run(zk.connect(50))
    assert zk.state == SessionState.CONNECTING


def test_server_that_comes_late_is_found(
    tmp_path: Path, make_bridge: MakeBridge, reactor_thread: ReactorThread
) -> None:
    ensemble = Ensemble.create(tmp_path, ensemble_config(1))
    zk = make_bridge(f"{ensemble.connect_string}/late")
    with pytest.raises(ZkTimeoutError):
        reactor_thread.run(zk.connect(50))
    ensemble.start()
    try:
        reactor_thread.run(zk.connect(15_000))
        assert zk.state == SessionState.CONNECTED
        reactor_thread.run(zk.close())
    finally:
        ensemble.stop()
