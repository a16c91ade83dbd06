"""Znodes by path: parents on the way up, children on the way down."""

import pytest

from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.errors import NodeExistsError
from kafkalike.zk.ops import UNKNOWN_VERSION
from kafkalike.zk.watches import ZNodeChangeHandler, ZNodeChildChangeHandler
from tests.support.fake_zookeeper import FakeZooKeeper
from tests.support.run import run


@pytest.fixture
def fake() -> FakeZooKeeper:
    return FakeZooKeeper()


@pytest.fixture
def client(fake: FakeZooKeeper) -> KafkaZkClient:
    return KafkaZkClient(fake.connected_client())


def test_missing_parents_are_made(fake: FakeZooKeeper, client: KafkaZkClient) -> None:
    run(client.create_recursive("/a/b/c", b"data"))
    assert fake.paths() == ["/", "/a", "/a/b", "/a/b/c"]
    assert fake.data("/a/b/c") == b"data"
    assert fake.data("/a") is None


def test_znode_that_is_there_is_not_made_again(client: KafkaZkClient) -> None:
    run(client.create_recursive("/a/b", b"first"))
    with pytest.raises(NodeExistsError):
        run(client.create_recursive("/a/b", b"second"))
    run(client.make_sure_persistent_path_exists("/a/b"))
    assert run(client.get_data_and_version("/a/b")) == (b"first", 0)


def test_absent_znode_has_neither_data_nor_children(client: KafkaZkClient) -> None:
    assert run(client.get_children("/absent")) == []
    assert run(client.get_data_and_stat("/absent")) == (None, None)
    assert run(client.get_data_and_version("/absent")) == (None, UNKNOWN_VERSION)
    assert run(client.path_exists("/absent")) is False
    assert run(client.delete_recursive("/absent")) is False
    run(client.delete_path("/absent", recursive=False))


def test_tree_is_deleted_from_the_leaves(fake: FakeZooKeeper, client: KafkaZkClient) -> None:
    for path in ("/a/x/1", "/a/x/2", "/a/y"):
        run(client.create_recursive(path))
    fake.writes.clear()
    assert run(client.delete_recursive("/a")) is True
    assert [w["path"] for w in fake.writes] == ["/a/x/1", "/a/x/2", "/a/x", "/a/y", "/a"]


def test_conditional_update_wants_the_version_it_read(client: KafkaZkClient) -> None:
    run(client.create_recursive("/a", b"0"))
    assert run(client.conditional_update_path("/a", b"1", 0)) == 1
    assert run(client.conditional_update_path("/a", b"2", 0)) is None
    assert run(client.conditional_update_path("/absent", b"2", 0)) is None
    assert run(client.get_data_and_version("/a")) == (b"1", 1)


def test_handler_of_an_absent_znode_hears_of_its_creation(
    fake: FakeZooKeeper, client: KafkaZkClient
) -> None:
    heard: list[str] = []
    handler = ZNodeChangeHandler.for_any_change("/a", lambda: heard.append("changed"))
    assert run(client.register_znode_change_handler_and_check_existence(handler)) is False
    other = KafkaZkClient(fake.connected_client())
    run(other.create_recursive("/a"))
    assert heard == ["changed"]
    client.unregister_znode_change_handler("/a")
    run(client.path_exists("/a"))
    run(other.delete_path("/a"))
    assert heard == ["changed"]


def test_child_handler_hears_only_of_what_was_read_with_a_watch(
    fake: FakeZooKeeper, client: KafkaZkClient
) -> None:
    heard: list[str] = []
    run(client.create_recursive("/a"))
    client.register_znode_child_change_handler(
        ZNodeChildChangeHandler(path="/a", on_child_change=lambda: heard.append("children"))
    )
    run(client.get_children("/a", register_watch=False))
    run(client.create_recursive("/a/1"))
    assert heard == []
    run(client.get_children("/a"))
    run(client.create_recursive("/a/2"))
    run(client.create_recursive("/a/3"))
    assert heard == ["children"]
