"""What FakeZooKeeper can do beyond a real ensemble; the rest is in integration/test_zk_contract."""

import pytest

from kafkalike.zk.errors import ConnectionLossError, SessionExpiredError, ZkTimeoutError
from kafkalike.zk.ops import CheckOp, CreateOp, DeleteOp
from kafkalike.zk.session import SessionState, StateChangeHandler
from kafkalike.zk.watches import ZNodeChangeHandler, ZNodeChildChangeHandler
from tests.support.fake_zk_client import FakeZkClient
from tests.support.fake_zookeeper import FakeZooKeeper
from tests.support.run import result_of, run, start


@pytest.fixture
def fake() -> FakeZooKeeper:
    return FakeZooKeeper()


@pytest.fixture
def zk(fake: FakeZooKeeper) -> FakeZkClient:
    return fake.connected_client()


def test_writer_hears_last(fake: FakeZooKeeper, zk: FakeZkClient) -> None:
    heard: list[str] = []
    zk.register_znode_change_handler(
        ZNodeChangeHandler(path="/a", on_creation=lambda: heard.append("watch"))
    )
    run(zk.exists("/a"))

    async def write() -> None:
        await fake.connected_client().create("/a")
        heard.append("writer")

    run(write())
    assert heard == ["watch", "writer"]


def test_connection_breaks_before_or_after_a_request(fake: FakeZooKeeper, zk: FakeZkClient) -> None:
    zk.lose_next_request()
    with pytest.raises(ConnectionLossError):
        run(zk.create("/a"))
    assert "/a" not in fake.tree
    zk.resume()
    zk.lose_next_answer()
    with pytest.raises(ConnectionLossError):
        run(zk.create("/a"))
    assert "/a" in fake.tree
    assert zk.state is SessionState.SUSPENDED


def test_watches_survive_a_lost_connection(fake: FakeZooKeeper, zk: FakeZkClient) -> None:
    heard: list[str] = []
    other = fake.connected_client()
    for path in ("/changed", "/quiet"):
        run(other.create(path))
        zk.register_znode_change_handler(
            ZNodeChangeHandler.for_any_change(path, lambda path=path: heard.append(path))  # type: ignore[misc]
        )
        zk.register_znode_child_change_handler(
            ZNodeChildChangeHandler(
                path=path,
                on_child_change=lambda path=path: heard.append(f"{path}/"),  # type: ignore[misc]
            )
        )
        run(zk.get(path))
        run(zk.get_children(path))
    zk.suspend()
    run(other.set("/changed", b"1"))
    run(other.create("/changed/child"))
    assert heard == []
    zk.resume()
    assert heard == ["/changed", "/changed/"]
    run(other.set("/quiet", b"1"))
    run(other.create("/quiet/child"))
    assert heard[2:] == ["/quiet", "/quiet/"]


def test_session_that_ended_while_away_is_replaced_on_return(
    fake: FakeZooKeeper, zk: FakeZkClient
) -> None:
    heard: list[str] = []
    zk.register_state_change_handler(
        StateChangeHandler(
            name="test",
            on_suspended=lambda: heard.append("suspended"),
            before_initializing_session=lambda: heard.append("before"),
            after_initializing_session=lambda: heard.append("after"),
        )
    )
    run(zk.create("/e", ephemeral=True))
    zk.suspend()
    fake.end_session(zk.session_id)
    assert "/e" not in fake.tree
    waiting = start(zk.create("/f"))
    zk.resume()
    assert heard == ["suspended", "before", "after"]
    with pytest.raises(SessionExpiredError):
        result_of(waiting)


def test_whole_ensemble_goes_and_comes(fake: FakeZooKeeper) -> None:
    clients = [fake.connected_client() for _ in range(2)]
    late = fake.client()
    fake.stop()
    assert {client.state for client in clients} == {SessionState.SUSPENDED}
    connecting = start(late.connect(1000))
    fake.clock.advance(1)
    with pytest.raises(ZkTimeoutError):
        result_of(connecting)
    connecting = start(late.connect(1000))
    fake.start()
    result_of(connecting)
    assert {client.state for client in (*clients, late)} == {SessionState.CONNECTED}


def test_delayed_answers_come_one_hop_at_a_time() -> None:
    fake = FakeZooKeeper(is_delayed=True)
    zk = fake.connected_client()
    creating = start(zk.create("/a"))
    assert "/a" not in fake.tree
    fake.pump(1)
    assert result_of(creating) == "/a"
    lost = start(zk.create("/b"))
    zk.suspend()
    with pytest.raises(ConnectionLossError):
        result_of(lost)
    fake.pump(3)
    assert "/b" not in fake.tree


def test_writes_are_logged_as_zookeeper_logs_them(fake: FakeZooKeeper, zk: FakeZkClient) -> None:
    run(zk.create("/a", b"1"))
    run(zk.create("/a/n_", sequence=True))
    run(zk.set("/a", b"2"))
    with pytest.raises(Exception, match="NoNodeError"):
        run(zk.delete("/x"))
    with pytest.raises(Exception, match="NodeExistsError"):
        run(zk.multi([CheckOp("/a", 1), CreateOp("/a"), DeleteOp("/a")]))
    run(zk.close())
    assert fake.writes == [
        {"session": "s0", "op": "createSession"},
        {"session": "s0", "op": "create", "path": "/a", "data": "1", "ephemeral": False},
        {
            "session": "s0",
            "op": "create",
            "path": "/a/n_0000000000",
            "data": None,
            "ephemeral": False,
        },
        {"session": "s0", "op": "setData", "path": "/a", "data": "2", "version": 1},
        {"session": "s0", "op": "error", "error": -101},
        {
            "session": "s0",
            "op": "multi",
            "ops": [
                {"op": "check", "path": "/a", "version": 2},
                {"op": "error", "error": -110},
                {"op": "error", "error": -2},
            ],
        },
        {"session": "s0", "op": "closeSession"},
    ]
