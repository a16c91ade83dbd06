"""ACLs in ZooKeeper: written as Kafka writes them, heard of by every broker."""

import json

import pytest
from twisted.internet.task import Clock

from kafkalike.config.errors import ConfigError
from kafkalike.protocol.errors import ErrorCode
from kafkalike.security.acl import (
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    AclPermissionType,
)
from kafkalike.security.acl_authorizer import AclAuthorizer
from kafkalike.security.acl_operation import AclOperation
from kafkalike.security.authorizer import Action, AuthorizableRequestContext
from kafkalike.security.principal import KafkaPrincipal
from kafkalike.security.resource import (
    PatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)
from kafkalike.utils.time import Time
from kafkalike.zk.client import KafkaZkClient
from tests.support.fake_zookeeper import FakeZooKeeper
from tests.support.log_observer import observed
from tests.support.run import result_of, run, start

ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
Op = AclOperation
TOPIC = ResourceType.TOPIC


class World:
    """A ZooKeeper in memory; each `broker()` is an authorizer with its own session."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.zookeeper = FakeZooKeeper(self.clock)
        self.zk = KafkaZkClient(self.zookeeper.connected_client())

    def broker(self, **properties: str) -> AclAuthorizer:
        zk = KafkaZkClient(self.zookeeper.connected_client())
        given = {name.replace("_", "."): value for name, value in properties.items()}
        authorizer = AclAuthorizer(given, zk, Time(self.clock))
        run(authorizer.start())
        return authorizer

    def data(self, path: str) -> str:
        data, _ = run(self.zk.get_data_and_stat(path))
        assert data is not None
        return data.decode()


def who(name: str = "al", host: str = "10.0.0.1") -> AuthorizableRequestContext:
    return AuthorizableRequestContext(KafkaPrincipal("User", name), host, "PLAINTEXT", "c", "FETCH")


def a_binding(
    name: str = "orders",
    operation: AclOperation = Op.READ,
    *,
    kind: ResourceType = TOPIC,
    pattern: PatternType = PatternType.LITERAL,
    principal: str = "User:al",
    permission: AclPermissionType = ALLOW,
) -> AclBinding:
    return AclBinding(
        ResourcePattern(kind, name, pattern),
        AccessControlEntry(principal, "*", operation, permission),
    )


def a_filter(
    name: str | None = None,
    pattern: PatternType = PatternType.ANY,
    principal: str | None = None,
) -> AclBindingFilter:
    return AclBindingFilter(
        ResourcePatternFilter(ResourceType.ANY, name, pattern),
        principal,
        None,
        Op.ANY,
        AclPermissionType.ANY,
    )


def may(authorizer: AclAuthorizer, name: str, user: str = "al") -> bool:
    return authorizer.authorize(who(user), Action(Op.READ, TOPIC, name))


def test_acl_is_written_as_kafka_writes_it() -> None:
    """M70: in /kafka-acl, with a notification in /kafka-acl-changes."""
    world = World()
    assert run(world.broker().create_acls(who(), [a_binding(operation=Op.DESCRIBE_CONFIGS)])) == [
        None
    ]
    assert json.loads(world.data("/kafka-acl/Topic/orders")) == {
        "version": 1,
        "acls": [
            {
                "principal": "User:al",
                "permissionType": "Allow",
                "operation": "DescribeConfigs",
                "host": "*",
            }
        ],
    }
    assert world.data("/kafka-acl-changes/acl_changes_0000000000") == "TOPIC:orders"


def test_prefixed_acl_has_a_tree_of_its_own() -> None:
    """M70: in /kafka-acl-extended, with a notification of its own kind."""
    world = World()
    binding = a_binding("team-", kind=ResourceType.TRANSACTIONAL_ID, pattern=PatternType.PREFIXED)
    run(world.broker().create_acls(who(), [binding]))
    assert "User:al" in world.data("/kafka-acl-extended/prefixed/TransactionalId/team-")
    assert json.loads(world.data("/kafka-acl-extended-changes/acl_changes_0000000000")) == {
        "version": 1,
        "resourceType": "TRANSACTIONAL_ID",
        "name": "team-",
        "patternType": "PREFIXED",
    }


def test_other_brokers_hear_of_new_and_deleted_acls() -> None:
    """M70: by the change notifications."""
    world = World()
    one, other = world.broker(), world.broker()
    run(one.create_acls(who(), [a_binding()]))
    assert may(one, "orders")
    assert may(other, "orders")
    run(other.delete_acls(who(), [a_filter()]))
    assert not may(one, "orders")
    assert not may(other, "orders")


def test_broker_knows_at_start_what_is_there() -> None:
    world = World()
    prefixed = a_binding("te", pattern=PatternType.PREFIXED)
    run(world.broker().create_acls(who(), [a_binding(), prefixed]))
    late = world.broker()
    assert may(late, "orders")
    assert may(late, "team")
    assert not may(late, "other")


def test_acls_of_a_resource_add_up() -> None:
    world = World()
    authorizer = world.broker()
    run(authorizer.create_acls(who(), [a_binding(), a_binding(operation=Op.WRITE)]))
    run(authorizer.create_acls(who(), [a_binding(principal="User:bo")]))
    assert len(list(authorizer.acls(a_filter()))) == 3


def test_same_acl_twice_is_one_and_no_news() -> None:
    world = World()
    authorizer = world.broker()
    for _ in range(2):
        assert run(authorizer.create_acls(who(), [a_binding()])) == [None]
    assert len(list(authorizer.acls(a_filter()))) == 1
    assert len(run(world.zk.get_children("/kafka-acl-changes"))) == 1


def test_last_acl_of_a_resource_takes_its_znode_with_it() -> None:
    world = World()
    authorizer = world.broker()
    run(authorizer.create_acls(who(), [a_binding()]))
    (result,) = run(authorizer.delete_acls(who(), [a_filter("orders", PatternType.LITERAL)]))
    assert result.deleted == [(a_binding(), None)]
    assert run(world.zk.get_children("/kafka-acl/Topic")) == []


def test_delete_by_match_finds_all_that_a_topic_falls_under() -> None:
    authorizer = World().broker()
    bindings = [
        a_binding("orders"),
        a_binding("*"),
        a_binding("ord", pattern=PatternType.PREFIXED),
        a_binding("other"),
    ]
    run(authorizer.create_acls(who(), bindings))
    (result,) = run(authorizer.delete_acls(who(), [a_filter("orders", PatternType.MATCH)]))
    assert {binding.pattern.name for binding, _ in result.deleted} == {"orders", "*", "ord"}
    assert [binding.pattern.name for binding in authorizer.acls(a_filter())] == ["other"]


def test_acl_that_two_filters_match_is_told_once() -> None:
    authorizer = World().broker()
    run(authorizer.create_acls(who(), [a_binding()]))
    first, second = run(authorizer.delete_acls(who(), [a_filter(), a_filter("orders")]))
    assert len(first.deleted) == 1
    assert len(second.deleted) == 0


def test_broker_that_has_not_heard_yet_loses_nothing_of_the_others() -> None:
    world = World()
    one, other = world.broker(), world.broker()
    other.close()  # hears of nothing any more
    run(one.create_acls(who(), [a_binding()]))
    run(other.create_acls(who(), [a_binding(operation=Op.WRITE)]))
    assert "Read" in world.data("/kafka-acl/Topic/orders")
    assert "Write" in world.data("/kafka-acl/Topic/orders")


def test_write_that_came_too_late_is_done_again() -> None:
    world = World()
    authorizer = world.broker()
    lost = [True]
    create = authorizer._zk.create_acls_for_resource_if_not_exists

    async def too_late(*arguments: object) -> int | None:
        return None if lost.pop() else await create(*arguments)  # type: ignore[arg-type]

    authorizer._zk.create_acls_for_resource_if_not_exists = too_late  # type: ignore[method-assign]
    lost.insert(0, False)
    creating = start(authorizer.create_acls(who(), [a_binding()]))
    world.clock.advance(1)
    assert result_of(creating) == [None]
    assert may(authorizer, "orders")


@pytest.mark.parametrize(
    "binding",
    [
        a_binding(operation=Op.ANY),
        a_binding(permission=AclPermissionType.ANY),
        a_binding(kind=ResourceType.ANY),
        a_binding(pattern=PatternType.MATCH),
        a_binding(principal="nobody"),
        a_binding("a/b"),
    ],
)
def test_acl_with_holes_is_refused_and_the_others_are_made(binding: AclBinding) -> None:
    authorizer = World().broker()
    refused, made = run(authorizer.create_acls(who(), [binding, a_binding()]))
    assert refused is not None
    assert refused.code is ErrorCode.INVALID_REQUEST
    assert made is None


def test_super_user_may_everything() -> None:
    authorizer = World().broker(super_users="User:al; User:CN=x,O=y")
    run(authorizer.create_acls(who(), [a_binding(principal="User:*", permission=DENY)]))
    assert may(authorizer, "orders")
    assert may(authorizer, "orders", "CN=x,O=y")
    assert not may(authorizer, "orders", "bo")
    assert authorizer.authorize_by_resource_type(who(), Op.WRITE, TOPIC)


def test_super_user_that_is_no_principal_is_refused_at_start() -> None:
    with pytest.raises(ConfigError, match=r"super\.users"):
        World().broker(super_users="al")


def test_everyone_may_what_has_no_acl_if_configured() -> None:
    authorizer = World().broker(allow_everyone_if_no_acl_found="true")
    run(authorizer.create_acls(who(), [a_binding()]))
    assert may(authorizer, "other", "bo")
    assert not may(authorizer, "orders", "bo")


def test_acls_elsewhere_than_in_the_brokers_zookeeper_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"authorizer\.zookeeper\.url"):
        World().broker(authorizer_zookeeper_url="zk:1")


def test_denied_request_is_logged_with_who_and_what() -> None:
    authorizer = World().broker()
    with observed("kafka.authorizer.logger") as lines:
        may(authorizer, "orders")
        authorizer.authorize(who(), Action(Op.READ, TOPIC, "orders", log_if_denied=False))
    (line,) = lines
    assert line == (
        "Principal = User:al is Denied Operation = Read from host = 10.0.0.1 on resource = "
        "Topic:LITERAL:orders for request = FETCH with resourceRefCount = 1"
    )


def test_unknown_words_in_zookeeper_allow_nothing() -> None:
    world = World()
    world.broker()
    path = "/kafka-acl/Topic/orders"
    acl = {"principal": "User:al", "permissionType": "Allow", "operation": "Fly", "host": "*"}
    data = json.dumps({"version": 1, "acls": [acl]}).encode()
    run(world.zk.create_recursive(path, data))
    assert not may(world.broker(), "orders")
