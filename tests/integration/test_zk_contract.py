"""What the rest of the house may expect of ZooKeeper: the bridge and FakeZooKeeper alike."""

from collections.abc import Iterator

import pytest

from kafkalike.zk.errors import (
    BadVersionError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    ZkClosedError,
)
from kafkalike.zk.ops import (
    MATCH_ANY_VERSION,
    OPEN_ACL_UNSAFE,
    READ_ACL_UNSAFE,
    CheckOp,
    CreateOp,
    DeleteOp,
    SetDataOp,
    Stat,
)
from kafkalike.zk.session import SessionState, StateChangeHandler
from kafkalike.zk.watches import ZNodeChangeHandler, ZNodeChildChangeHandler
from kafkalike.zk.zookeeper import ZooKeeper
from tests.support.zookeeper_world import BridgeWorld, FakeWorld, ZooKeeperWorld


@pytest.fixture(params=["fake", pytest.param("bridge", marks=pytest.mark.ensemble)])
def world(request: pytest.FixtureRequest) -> Iterator[ZooKeeperWorld]:
    if request.param == "fake":
        yield FakeWorld()
        return
    ensemble = request.getfixturevalue("ensemble")
    world = BridgeWorld(ensemble.connect_string, request.getfixturevalue("reactor_thread"))
    yield world
    world.close()


def recording(path: str, heard: list[str]) -> ZNodeChangeHandler:
    return ZNodeChangeHandler(
        path=path,
        on_creation=lambda: heard.append("created"),
        on_deletion=lambda: heard.append("deleted"),
        on_data_change=lambda: heard.append("data"),
    )


def recording_children(path: str, heard: list[str]) -> ZNodeChildChangeHandler:
    return ZNodeChildChangeHandler(path=path, on_child_change=lambda: heard.append("children"))


def test_client_has_a_session(world: ZooKeeperWorld) -> None:
    async def scenario() -> None:
        first, second = await world.client(), await world.client()
        assert first.state is SessionState.CONNECTED
        assert first.session_id not in (-1, second.session_id)
        assert first.credentials is not None
        await first.wait_until_connected()

    world.run(scenario())


def test_znodes_are_created_read_changed_and_deleted(world: ZooKeeperWorld) -> None:
    async def scenario() -> None:
        zk = await world.client()
        assert await zk.create("/a", b"1") == "/a"
        data, created = await zk.get("/a")
        assert (data, created.version, created.data_length) == (b"1", 0, 1)
        assert created.czxid == created.mzxid == created.pzxid
        changed = await zk.set("/a", b"22", 0)
        assert (changed.version, changed.czxid) == (1, created.czxid)
        assert changed.mzxid > created.mzxid
        assert await zk.exists("/a") == changed
        await zk.delete("/a", 1)
        assert await zk.exists("/a") is None

    world.run(scenario())


def test_znode_may_have_no_data_at_all(world: ZooKeeperWorld) -> None:
    async def scenario() -> None:
        zk = await world.client()
        await zk.create("/none")
        assert (await zk.get("/none"))[0] is None
        await zk.multi([CreateOp("/none/too"), CreateOp("/none/empty", b"")])
        assert (await zk.get("/none/too"))[0] is None
        assert (await zk.get("/none/empty"))[0] == b""
        await zk.set("/none/empty", None)
        assert (await zk.get("/none/empty"))[0] is None

    world.run(scenario())


def test_refusals_have_their_reasons(world: ZooKeeperWorld) -> None:
    async def scenario() -> None:
        zk = await world.client()
        await zk.create("/a")
        await zk.create("/a/b")
        await zk.create("/ephemeral", ephemeral=True)
        with pytest.raises(NodeExistsError, match="/a"):
            await zk.create("/a")
        with pytest.raises(NoNodeError, match="/x/y"):
            await zk.create("/x/y")
        with pytest.raises(NoChildrenForEphemeralsError):
            await zk.create("/ephemeral/child")
        with pytest.raises(NotEmptyError):
            await zk.delete("/a")
        for asking in (zk.get("/x"), zk.get_children("/x"), zk.get_acl("/x")):
            with pytest.raises(NoNodeError):
                await asking
        for writing in (zk.set("/x", b""), zk.delete("/x")):
            with pytest.raises(NoNodeError):
                await writing
        for conditional in (zk.set("/a/b", b"", 3), zk.delete("/a/b", 3)):
            with pytest.raises(BadVersionError):
                await conditional

    world.run(scenario())


def test_sequential_znodes_are_numbered_by_creations(world: ZooKeeperWorld) -> None:
    async def scenario() -> None:
        zk = await world.client()
        await zk.create("/q")
        assert await zk.create("/q/n_", sequence=True) == "/q/n_0000000000"
        assert await zk.create("/q/n_", sequence=True) == "/q/n_0000000001"
        await zk.delete("/q/n_0000000001")
        assert await zk.create("/q/m_", sequence=True) == "/q/m_0000000002"
        assert sorted(await zk.get_children("/q")) == ["m_0000000002", "n_0000000000"]
        stat = await zk.exists("/q")
        assert stat is not None
        assert (stat.num_children, stat.cversion) == (2, 4)

    world.run(scenario())


def test_missing_parents_are_made_when_asked_for(world: ZooKeeperWorld) -> None:
    async def scenario() -> None:
        zk = await world.client()
        assert await zk.create("/p/q/r", b"1", makepath=True) == "/p/q/r"
        assert (await zk.get("/p/q"))[0] is None
        with pytest.raises(NodeExistsError):
            await zk.create("/p/q/r", makepath=True)

    world.run(scenario())


def test_access_lists_are_kept(world: ZooKeeperWorld) -> None:
    async def scenario() -> None:
        zk = await world.client()
        await zk.create("/open")
        await zk.create("/readable", acl=READ_ACL_UNSAFE)
        assert await zk.get_acl("/open") == OPEN_ACL_UNSAFE
        assert await zk.get_acl("/readable") == READ_ACL_UNSAFE

    world.run(scenario())


def test_multi_does_all_and_answers_each(world: ZooKeeperWorld) -> None:
    async def scenario() -> None:
        zk = await world.client()
        await zk.create("/a")
        await zk.create("/gone")
        results = await zk.multi(
            [
                CheckOp("/a", 0),
                CreateOp("/a/b", None, ephemeral=True),
                SetDataOp("/a/b", b"1", 0),
                CreateOp("/a/n_", sequence=True),
                DeleteOp("/gone", MATCH_ANY_VERSION),
            ]
        )
        assert (results[0], results[1], results[4]) == (None, "/a/b", None)
        assert results[3] == "/a/n_0000000001"
        stat = results[2]
        assert isinstance(stat, Stat)
        assert (stat.version, stat.ephemeral_owner) == (1, zk.session_id)
        assert stat == await zk.exists("/a/b")

    world.run(scenario())


def test_multi_does_nothing_if_one_is_refused_and_says_which(world: ZooKeeperWorld) -> None:
    async def scenario() -> None:
        zk = await world.client()
        await zk.create("/a")
        with pytest.raises(BadVersionError, match="/a") as refused:
            await zk.multi([CreateOp("/new"), CheckOp("/a", 7), DeleteOp("/a")])
        assert (refused.value.op_index, refused.value.path) == (1, "/a")
        with pytest.raises(NoNodeError) as missing:
            await zk.multi([SetDataOp("/absent", b""), CreateOp("/new")])
        assert missing.value.op_index == 0
        with pytest.raises(NodeExistsError) as taken:
            await zk.multi([SetDataOp("/a", b"x", 0), DeleteOp("/a"), CreateOp("/")])
        assert taken.value.op_index == 2
        assert await zk.exists("/new") is None
        data, stat = await zk.get("/a")
        assert (data, stat.version) == (None, 0)

    world.run(scenario())


def test_ephemerals_go_with_their_session(world: ZooKeeperWorld) -> None:
    async def scenario() -> None:
        first, second = await world.client(), await world.client()
        await first.create("/e", ephemeral=True)
        await first.create("/p")
        stat = await second.exists("/e")
        assert stat is not None
        assert stat.ephemeral_owner == first.session_id
        await first.close()
        assert await second.exists("/e") is None
        assert await second.exists("/p") is not None
        assert first.state is SessionState.CLOSED
        with pytest.raises(ZkClosedError):
            await first.exists("/p")
        await first.close()

    world.run(scenario())


async def change(zk: ZooKeeper, how: str) -> None:
    match how:
        case "created":
            await zk.create("/w", b"")
        case "data":
            await zk.set("/w", b"other")
        case "deleted":
            await zk.delete("/w")


def test_handler_hears_of_each_kind_of_change_after_each_look(world: ZooKeeperWorld) -> None:
    async def scenario() -> None:
        zk, other = await world.client(), await world.client()
        heard: list[str] = []
        zk.register_znode_change_handler(recording("/w", heard))
        for how in ("created", "data", "deleted"):
            await zk.exists("/w")
            await change(other, how)
            await world.until(lambda how=how: heard[-1:] == [how], how)  # type: ignore[misc]
        assert heard == ["created", "data", "deleted"]

    world.run(scenario())


def test_one_look_sets_one_watch(world: ZooKeeperWorld) -> None:
    async def scenario() -> None:
        zk, other = await world.client(), await world.client()
        heard: list[str] = []
        await other.create("/w")
        zk.register_znode_change_handler(recording("/w", heard))
        await zk.get("/w")
        await zk.exists("/w")
        await other.set("/w", b"1")
        await world.until(lambda: heard, "the first change")
        await other.set("/w", b"2")
        await world.settle(zk)
        assert heard == ["data"]
        await zk.get("/w")
        await other.set("/w", b"3")
        await world.until(lambda: len(heard) == 2, "the change after the second look")

    world.run(scenario())


def test_reading_an_absent_znode_sets_no_watch(world: ZooKeeperWorld) -> None:
    async def scenario() -> None:
        zk, other = await world.client(), await world.client()
        heard: list[str] = []
        zk.register_znode_change_handler(recording("/w", heard))
        with pytest.raises(NoNodeError):
            await zk.get("/w")
        await other.create("/w")
        await world.settle(zk)
        assert heard == []

    world.run(scenario())


def test_child_handler_hears_of_children_that_come_and_go(world: ZooKeeperWorld) -> None:
    async def scenario() -> None:
        zk, other = await world.client(), await world.client()
        heard: list[str] = []
        await other.create("/w")
        zk.register_znode_child_change_handler(recording_children("/w", heard))
        assert await zk.get_children("/w") == []
        await other.create("/w/1")
        await world.until(lambda: heard == ["children"], "a child came")
        assert await zk.get_children("/w") == ["1"]
        await other.set("/w/1", b"data of a child is another matter")
        await other.set("/w", b"and so is that of the parent")
        await world.settle(zk)
        assert heard == ["children"]
        await other.delete("/w/1")
        await world.until(lambda: heard == ["children"] * 2, "a child went")

    world.run(scenario())


def test_listing_without_a_watch_sets_none(world: ZooKeeperWorld) -> None:
    async def scenario() -> None:
        zk, other = await world.client(), await world.client()
        heard: list[str] = []
        await other.create("/w")
        zk.register_znode_child_change_handler(recording_children("/w", heard))
        await zk.get_children("/w", register_watch=False)
        await other.create("/w/1")
        await world.settle(zk)
        assert heard == []

    world.run(scenario())


def test_unregistered_handler_hears_nothing(world: ZooKeeperWorld) -> None:
    async def scenario() -> None:
        zk, other = await world.client(), await world.client()
        heard: list[str] = []
        await other.create("/w")
        zk.register_znode_change_handler(recording("/w", heard))
        zk.register_znode_child_change_handler(recording_children("/w", heard))
        await zk.get("/w")
        await zk.get_children("/w")
        zk.unregister_znode_change_handler("/w")
        zk.unregister_znode_child_change_handler("/w")
        await other.create("/w/1")
        await other.set("/w", b"1")
        await world.settle(zk)
        assert heard == []

    world.run(scenario())


def test_handler_hears_of_own_changes_too(world: ZooKeeperWorld) -> None:
    async def scenario() -> None:
        zk = await world.client()
        heard: list[str] = []
        zk.register_znode_change_handler(recording("/w", heard))
        await zk.exists("/w")
        await zk.create("/w")
        await world.until(lambda: heard == ["created"], "our own creation")

    world.run(scenario())


def test_handler_hears_of_the_end_of_another_session(world: ZooKeeperWorld) -> None:
    """M71: that a broker died is told through the watch on its ephemeral znode's parent."""

    async def scenario() -> None:
        zk, broker = await world.client(), await world.client()
        heard: list[str] = []
        await zk.create("/ids")
        await broker.create("/ids/1", ephemeral=True)
        zk.register_znode_child_change_handler(recording_children("/ids", heard))
        await zk.get_children("/ids")
        await broker.close()
        await world.until(lambda: heard == ["children"], "the broker's end")
        assert await zk.get_children("/ids") == []

    world.run(scenario())


def test_expired_session_is_followed_by_a_new_one(world: ZooKeeperWorld) -> None:
    async def scenario() -> None:
        zk, other = await world.client(), await world.client()
        before, heard = zk.session_id, []
        zk.register_state_change_handler(
            StateChangeHandler(
                name="test",
                before_initializing_session=lambda: heard.append(f"before {zk.state.name}"),
                after_initializing_session=lambda: heard.append(f"after {zk.state.name}"),
            )
        )
        await zk.create("/e", ephemeral=True)
        await world.expire(zk)
        assert heard == ["before EXPIRED", "after CONNECTED"]
        assert zk.session_id != before
        assert await other.exists("/e") is None
        await zk.create("/e", ephemeral=True)
        zk.unregister_state_change_handler("test")
        await world.expire(zk)
        assert len(heard) == 2

    world.run(scenario())


def test_watches_end_with_the_session_and_handlers_stay(world: ZooKeeperWorld) -> None:
    async def scenario() -> None:
        zk, other = await world.client(), await world.client()
        heard: list[str] = []
        await other.create("/w")
        zk.register_znode_change_handler(recording("/w", heard))
        await zk.exists("/w")
        await world.expire(zk)
        await other.set("/w", b"1")
        await world.settle(zk)
        assert heard == []
        await zk.exists("/w")
        await other.set("/w", b"2")
        await world.until(lambda: heard == ["data"], "the change after a new look")

    world.run(scenario())


def test_session_can_be_resumed_with_its_credentials(world: ZooKeeperWorld) -> None:
    """A restarted broker ends its own former session, so that its znode is gone at once."""

    async def scenario() -> None:
        crashed, other = await world.client(), await world.client()
        await crashed.create("/e", ephemeral=True)
        heir = await world.client(resume=crashed.credentials)
        assert heir.session_id == crashed.session_id
        await heir.close()
        assert await other.exists("/e") is None

    world.run(scenario())


def test_session_that_is_no_more_is_replaced_when_resumed(world: ZooKeeperWorld) -> None:
    async def scenario() -> None:
        ended = await world.client()
        credentials = ended.credentials
        await ended.close()
        heir = await world.client(resume=credentials)
        assert credentials is not None
        assert heir.session_id not in (-1, credentials.session_id)
        assert heir.state is SessionState.CONNECTED

    world.run(scenario())
