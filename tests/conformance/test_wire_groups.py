"""The group APIs on the wire, every version of each: ours answers as Apache Kafka does."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.consumer_protocol import encode_subscription
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.delete_groups import DeleteGroupsRequest
from kafkalike.protocol.messages.delete_topics import DeleteTopicsRequest
from kafkalike.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kafkalike.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkalike.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkalike.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkalike.protocol.messages.list_groups import ListGroupsRequest
from kafkalike.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tests.support import wire
from tests.support.broker import Broker
from tests.support.target import Target, unique_topic
from tests.support.waiting import wait_until
from tests.support.wire_groups import (
    SUBSCRIPTION,
    WireMember,
    commit,
    committed,
    fetch,
    wait_for_group_coordinator,
)

ONE_BROKER = {
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}
NO_OPERATIONS = -(1 << 31)
GROUP_OPERATIONS = 0b101001000  # read, delete, describe


def versions(key: ApiKey, first: int = 0) -> range:
    return range(first, key.versions.stop)


@pytest.fixture(scope="module")
def broker(broker_factory: Callable[..., Broker]) -> Broker:
    return broker_factory(properties=ONE_BROKER)


@pytest.fixture(scope="module")
def client(target: Target) -> Iterator[SimpleClient]:
    with target.connect() as connection:
        wait_for_group_coordinator(connection, "warm-up")
        yield connection


@pytest.fixture(scope="module")
def topic(client: SimpleClient) -> str:
    return wire.create_topic(client, "orders", partitions=2)


@pytest.fixture
def group() -> str:
    return unique_topic("group")


class Members:
    """Members on connections of their own, for one connection has one request in hand."""

    def __init__(self, target: Target, group_id: str) -> None:
        self._target = target
        self._group_id = group_id
        self._clients: list[SimpleClient] = []

    def __call__(self, instance: str | None = None) -> WireMember:
        self._clients.append(self._target.connect(client_id="app"))
        return WireMember(self._clients[-1], self._group_id, instance=instance)

    def close(self) -> None:
        for connection in self._clients:
            connection.close()


@pytest.fixture
def member(target: Target, client: SimpleClient, group: str) -> Iterator[Members]:
    members = Members(target, group)
    yield members
    members.close()


class Later:
    """A request that waits, in a thread."""

    def __init__(self, ask: Callable[[], Any]) -> None:
        self._answers: list[Any] = []
        self._thread = threading.Thread(target=lambda: self._answers.append(ask()))
        self._thread.start()

    def answer(self) -> Any:
        self._thread.join(30)
        assert self._answers, "no answer"
        return self._answers[0]


def settled(first: WireMember, second: WireMember) -> None:
    """Let two members settle on a generation that the first one leads."""
    joined(first)
    joining = Later(second.join_fully)
    wait_until(
        lambda: first.heartbeat().error_code == ErrorCode.REBALANCE_IN_PROGRESS, 10, "rebalance"
    )
    assert first.join().error_code == ErrorCode.NONE
    assert joining.answer().generation_id == first.generation
    syncing = Later(second.sync)
    first.sync(assignment={one.member_id: one.member_id.encode() for one in (first, second)})
    assert syncing.answer().error_code == ErrorCode.NONE


def joined(member: WireMember, version: int | None = None) -> WireMember:
    """Let one member have a stable group of its own."""
    assert member.join_fully(version).error_code == ErrorCode.NONE
    assignment = {member.member_id: b"assigned"}
    assert member.sync(assignment=assignment).error_code == ErrorCode.NONE
    return member


# --- FindCoordinator


@pytest.mark.parametrize("version", versions(ApiKey.FIND_COORDINATOR))
def test_coordinator_of_a_group(target: Target, client: SimpleClient, version: int) -> None:
    answer = client.send(FindCoordinatorRequest(key="any"), version)
    assert (answer.error_code, answer.port) == (ErrorCode.NONE, target.port)
    assert answer.host in ("127.0.0.1", "localhost")
    assert answer.error_message == ("" if version == 0 else "NONE")


@pytest.mark.parametrize("version", versions(ApiKey.FIND_COORDINATOR, 1))
def test_coordinator_of_a_transactional_id_is_created_on_demand(
    target: Target, client: SimpleClient, version: int
) -> None:
    request = FindCoordinatorRequest(key="txn", key_type=1)
    answer = wait_until(
        lambda: (a := client.send(request, version)).error_code == 0 and a, 30, "a coordinator"
    )
    assert answer.port == target.port


def test_unknown_kind_of_coordinator_is_refused(client: SimpleClient) -> None:
    answer = client.send(FindCoordinatorRequest(key="any", key_type=7))
    assert (answer.error_code, answer.node_id, answer.host, answer.port) == (
        ErrorCode.INVALID_REQUEST,
        -1,
        "",
        -1,
    )


def test_offsets_topic_is_created_as_kafka_does(client: SimpleClient) -> None:
    answer = wire.metadata(client, "__consumer_offsets")
    assert len(answer.partitions) == 4
    assert answer.is_internal
    configs = _configs(client, "__consumer_offsets")
    assert configs["cleanup.policy"] == "compact"
    assert configs["compression.type"] == "producer"
    assert configs["segment.bytes"] == "104857600"


# --- JoinGroup and SyncGroup


@pytest.mark.parametrize("version", versions(ApiKey.JOIN_GROUP))
def test_first_join(member: Members, version: int) -> None:
    one = member()
    answer = one.join(version)
    if version >= 4:
        assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
        assert (answer.generation_id, answer.leader, list(answer.members)) == (-1, "", [])
        assert answer.protocol_name == (None if version >= 7 else "")
        assert answer.protocol_type is None
        answer = one.join(version)
    assert answer.error_code == ErrorCode.NONE
    assert answer.generation_id == 1
    assert answer.protocol_name == "range"
    assert answer.protocol_type == ("consumer" if version >= 7 else None)
    assert answer.leader == answer.member_id
    assert answer.member_id.startswith("app-")
    assert len(answer.member_id) == len("app-") + 36
    ((found, instance, metadata),) = (
        (m.member_id, m.group_instance_id, m.metadata) for m in answer.members
    )
    assert (found, instance, metadata) == (answer.member_id, None, SUBSCRIPTION)


@pytest.mark.parametrize("version", versions(ApiKey.SYNC_GROUP))
def test_sync_of_the_only_member(member: Members, version: int) -> None:
    one = member()
    one.join_fully()
    answer = one.sync(version, {one.member_id: b"assigned"})
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"assigned")
    protocol = ("consumer", "range") if version >= 5 else (None, None)
    assert (answer.protocol_type, answer.protocol_name) == protocol
    again = one.sync(version)
    assert (again.error_code, again.assignment) == (ErrorCode.NONE, b"assigned")


def test_two_members_share_a_generation(member: Members) -> None:
    first, second = joined(member()), member()
    second.join()
    joining = Later(second.join)
    wait_until(
        lambda: first.heartbeat().error_code == ErrorCode.REBALANCE_IN_PROGRESS, 10, "rebalance"
    )
    rejoined = first.join()
    answer = joining.answer()
    assert (rejoined.generation_id, answer.generation_id) == (2, 2)
    assert rejoined.leader == answer.leader == first.member_id
    assert {m.member_id for m in rejoined.members} == {first.member_id, second.member_id}
    assert list(answer.members) == []
    syncing = Later(second.sync)
    first.sync(assignment={first.member_id: b"one", second.member_id: b"two"})
    assert syncing.answer().assignment == b"two"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"session_ms": 5999}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"protocols": ()}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_join_that_is_refused(member: Members, fields: dict[str, Any], code: ErrorCode) -> None:
    answer = member().join(**fields)
    assert (answer.error_code, answer.generation_id, answer.member_id) == (code, -1, "")


def test_joins_that_do_not_fit_the_group(member: Members) -> None:
    joined(member())
    other = member()
    wrong = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert other.join(protocol_type="connect").error_code == wrong
    assert other.join(protocols=[("sticky", b"")]).error_code == wrong
    other.member_id = "made-up"
    answer = other.join()
    assert (answer.error_code, answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "made-up")


def test_group_without_name_cannot_be_joined(target: Target, client: SimpleClient) -> None:
    nameless = WireMember(client, "")
    assert nameless.join().error_code == ErrorCode.INVALID_GROUP_ID
    assert nameless.heartbeat().error_code == ErrorCode.INVALID_GROUP_ID
    assert nameless.sync().error_code == ErrorCode.INVALID_GROUP_ID
    assert nameless.leave().error_code == ErrorCode.INVALID_GROUP_ID


def test_syncs_that_are_refused(member: Members) -> None:
    one = member()
    assert one.sync().error_code == ErrorCode.UNKNOWN_MEMBER_ID
    joined(one)
    assert one.sync(protocol_name="sticky").error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert one.sync(protocol_type="connect").error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert one.sync(protocol_name=None).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert one.sync(4, protocol_name=None).error_code == ErrorCode.NONE
    one.generation = 7
    assert one.sync().error_code == ErrorCode.ILLEGAL_GENERATION


# --- Heartbeat and LeaveGroup


@pytest.mark.parametrize("version", versions(ApiKey.HEARTBEAT))
def test_heartbeats(member: Members, version: int) -> None:
    one = joined(member())
    assert one.heartbeat(version).error_code == ErrorCode.NONE
    assert one.heartbeat(version, generation=2).error_code == ErrorCode.ILLEGAL_GENERATION
    one.member_id = "made-up"
    assert one.heartbeat(version).error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", versions(ApiKey.LEAVE_GROUP))
def test_leaving(member: Members, version: int) -> None:
    one = joined(member())
    answer = one.leave(version)
    assert answer.error_code == ErrorCode.NONE
    again = one.leave(version)
    if version >= 3:
        assert [(m.member_id, m.error_code) for m in answer.members] == [
            (one.member_id, ErrorCode.NONE)
        ]
        assert again.error_code == ErrorCode.NONE
        assert [m.error_code for m in again.members] == [ErrorCode.UNKNOWN_MEMBER_ID]
    else:
        assert list(answer.members) == []
        assert again.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_members_leave_together(member: Members, group: str) -> None:
    first, second = member("i"), member()
    settled(first, second)
    request = LeaveGroupRequest(
        group_id=group,
        members=[
            MemberIdentity(member_id="", group_instance_id="i"),
            MemberIdentity(member_id=second.member_id),
            MemberIdentity(member_id="nobody"),
        ],
    )
    answer = first.client.send(request)
    assert [(m.member_id, m.group_instance_id, m.error_code) for m in answer.members] == [
        ("", "i", ErrorCode.NONE),
        (second.member_id, None, ErrorCode.NONE),
        ("nobody", None, ErrorCode.UNKNOWN_MEMBER_ID),
    ]


def test_silent_member_is_thrown_out(member: Members) -> None:
    one = member()
    one.join_fully(session_ms=6000)
    one.sync(assignment={})
    wait_until(lambda: _state(one.client, one.group_id) == "Empty", 15, "the end of the session")
    assert one.heartbeat().error_code == ErrorCode.UNKNOWN_MEMBER_ID


# --- static members


def test_static_member_restarts_without_a_rebalance(member: Members) -> None:
    first, second = member("a"), member("b")
    settled(first, second)
    restarted = member("b")
    answer = restarted.join()
    assert answer.error_code == ErrorCode.NONE
    assert answer.generation_id == second.generation
    assert answer.leader == first.member_id
    assert list(answer.members) == []
    assert restarted.sync().assignment == second.member_id.encode()
    assert first.heartbeat().error_code == ErrorCode.NONE
    fenced = ErrorCode.FENCED_INSTANCE_ID
    assert second.heartbeat().error_code == fenced
    assert second.sync().error_code == fenced
    assert second.join().error_code == fenced
    assert [m.error_code for m in second.leave().members] == [fenced]


def test_static_member_that_leads_restarts_without_a_rebalance(member: Members) -> None:
    leader = joined(member("a"))
    restarted = member("a")
    answer = restarted.join()
    assert (answer.error_code, answer.generation_id) == (ErrorCode.NONE, leader.generation)
    assert answer.leader == leader.member_id
    assert list(answer.members) == []


def test_static_members_are_described(member: Members, client: SimpleClient) -> None:
    one = joined(member("a"))
    (group,) = client.send(DescribeGroupsRequest(groups=[one.group_id])).groups
    ((member_id, instance),) = ((m.member_id, m.group_instance_id) for m in group.members)
    assert (member_id, instance) == (one.member_id, "a")
    assert member_id.startswith("a-")


# --- OffsetCommit and OffsetFetch


@pytest.mark.parametrize("fetch_version", versions(ApiKey.OFFSET_FETCH, 1))
@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_COMMIT, 1))
def test_commit_without_membership(
    client: SimpleClient, topic: str, group: str, version: int, fetch_version: int
) -> None:
    answer = commit(client, group, topic, 42, version, metadata="note", leader_epoch=0)
    assert answer.error_code == ErrorCode.NONE
    found = fetch(client, group, {topic: [0, 1]}, fetch_version)
    assert found.error_code == ErrorCode.NONE
    ((first, second),) = (
        sorted(t.partitions, key=lambda p: p.partition_index) for t in found.topics
    )
    assert (first.committed_offset, first.metadata, first.error_code) == (42, "note", 0)
    epoch = 0 if version >= 6 and fetch_version >= 5 else -1
    assert first.committed_leader_epoch == epoch
    assert (second.committed_offset, second.metadata, second.error_code) == (-1, "", 0)


def test_oldest_clients_keep_offsets_in_zookeeper(
    client: SimpleClient, topic: str, group: str
) -> None:
    assert commit(client, group, topic, 7, 0, metadata="x" * 5000).error_code == (
        ErrorCode.OFFSET_METADATA_TOO_LARGE
    )
    ((none,),) = (t.partitions for t in fetch(client, group, {topic: [0]}, 0).topics)
    assert (none.committed_offset, none.metadata, none.error_code) == (
        -1,
        "",
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    )
    for offset in (7, 8):
        assert commit(client, group, topic, offset, 0).error_code == ErrorCode.NONE
        ((found,),) = (t.partitions for t in fetch(client, group, {topic: [0]}, 0).topics)
        assert (found.committed_offset, found.error_code) == (offset, ErrorCode.NONE)
    assert committed(client, group, topic) == -1


def test_all_offsets_of_a_group(client: SimpleClient, topic: str, group: str) -> None:
    commit(client, group, topic, 1, partition=0)
    commit(client, group, topic, 2, partition=1)
    (found,) = fetch(client, group, None).topics
    assert {p.partition_index: p.committed_offset for p in found.partitions} == {0: 1, 1: 2}
    assert list(fetch(client, unique_topic("nobody"), None).topics) == []


def test_commits_that_are_refused(client: SimpleClient, topic: str, group: str) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert commit(client, group, "no-such-topic", 1).error_code == unknown
    assert commit(client, group, topic, 1, partition=9).error_code == unknown
    too_large = commit(client, group, topic, 1, metadata="x" * 4097)
    assert too_large.error_code == ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert commit(client, group, topic, 1, metadata="x" * 4096).error_code == ErrorCode.NONE
    assert commit(client, group, topic, 1, metadata=None).error_code == ErrorCode.NONE
    old = commit(client, unique_topic("new"), topic, 1, generation_id=3, member_id="m")
    assert old.error_code == ErrorCode.ILLEGAL_GENERATION


def test_group_without_name_stores_offsets(client: SimpleClient, topic: str) -> None:
    assert commit(client, "", topic, 5).error_code == ErrorCode.NONE
    assert committed(client, "", topic) == 5


def test_commits_of_members(member: Members, client: SimpleClient, topic: str) -> None:
    one = member()
    one.join_fully()
    rebalancing = one.commit(topic, 1)
    assert rebalancing.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    one.sync(assignment={})
    assert one.commit(topic, 2).error_code == ErrorCode.NONE
    stranger = commit(client, one.group_id, topic, 3)
    assert stranger.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    one.generation += 1
    assert one.commit(topic, 4).error_code == ErrorCode.ILLEGAL_GENERATION
    assert committed(client, one.group_id, topic) == 2


# --- DescribeGroups and ListGroups


@pytest.mark.parametrize("version", versions(ApiKey.DESCRIBE_GROUPS))
def test_description(member: Members, client: SimpleClient, version: int) -> None:
    one = joined(member())
    nobody = unique_topic("nobody")
    request = DescribeGroupsRequest(
        groups=[one.group_id, nobody], include_authorized_operations=version >= 3
    )
    found, absent = client.send(request, version).groups
    assert (found.error_code, found.group_id, found.group_state) == (0, one.group_id, "Stable")
    assert (found.protocol_type, found.protocol_data) == ("consumer", "range")
    (described,) = found.members
    assert (described.member_id, described.client_id, described.client_host) == (
        one.member_id,
        "app",
        "/127.0.0.1",
    )
    assert (described.member_metadata, described.member_assignment) == (SUBSCRIPTION, b"assigned")
    assert (absent.error_code, absent.group_state, list(absent.members)) == (0, "Dead", [])
    operations = GROUP_OPERATIONS if version >= 3 else NO_OPERATIONS
    assert found.authorized_operations == absent.authorized_operations == operations


def test_description_before_the_assignment(member: Members, client: SimpleClient) -> None:
    one = member()
    one.join_fully()
    (found,) = client.send(DescribeGroupsRequest(groups=[one.group_id])).groups
    assert (found.group_state, found.protocol_data) == ("CompletingRebalance", "")
    (described,) = found.members
    assert (described.member_metadata, described.member_assignment) == (b"", b"")


@pytest.mark.parametrize("version", versions(ApiKey.LIST_GROUPS))
def test_list(member: Members, client: SimpleClient, topic: str, version: int) -> None:
    one = joined(member())
    simple = unique_topic("simple")
    commit(client, simple, topic, 1)
    answer = client.send(ListGroupsRequest(), version)
    assert answer.error_code == ErrorCode.NONE
    listed = {g.group_id: (g.protocol_type, g.group_state) for g in answer.groups}
    states = ("Stable", "Empty") if version >= 4 else ("", "")
    assert listed[one.group_id] == ("consumer", states[0])
    assert listed[simple] == ("", states[1])


def test_list_by_state(member: Members, client: SimpleClient, topic: str) -> None:
    one = joined(member())
    simple = unique_topic("simple")
    commit(client, simple, topic, 1)
    for state, there, not_there in (
        ("Stable", one.group_id, simple),
        ("Empty", simple, one.group_id),
    ):
        answer = client.send(ListGroupsRequest(states_filter=[state]))
        groups = {g.group_id for g in answer.groups}
        assert there in groups
        assert not_there not in groups
    assert list(client.send(ListGroupsRequest(states_filter=["NoSuchState"])).groups) == []


# --- DeleteGroups and OffsetDelete


@pytest.mark.parametrize("version", versions(ApiKey.DELETE_GROUPS))
def test_deletion(member: Members, client: SimpleClient, topic: str, version: int) -> None:
    one = joined(member())
    simple, nobody = unique_topic("simple"), unique_topic("nobody")
    commit(client, simple, topic, 1)
    names = [one.group_id, simple, nobody, nobody]
    answer = client.send(DeleteGroupsRequest(groups_names=names), version)
    assert {r.group_id: r.error_code for r in answer.results} == {
        one.group_id: ErrorCode.NON_EMPTY_GROUP,
        simple: ErrorCode.NONE,
        nobody: ErrorCode.GROUP_ID_NOT_FOUND,
    }
    assert _state(client, simple) == "Dead"
    assert committed(client, simple, topic) == -1


def test_deletion_of_offsets(member: Members, client: SimpleClient, topic: str) -> None:
    protocols = [("range", encode_subscription([topic]))]
    one = member()
    one.join_fully(protocols=protocols)
    one.sync(assignment={})
    other = wire.create_topic(client, "other")
    one.commit(topic, 5)
    one.commit(other, 6)
    request = OffsetDeleteRequest(
        group_id=one.group_id,
        topics=[
            OffsetDeleteRequestTopic(
                name=name, partitions=[OffsetDeleteRequestPartition(partition_index=0)]
            )
            for name in (topic, other, "no-such-topic")
        ],
    )
    answer = client.send(request)
    assert answer.error_code == ErrorCode.NONE
    assert {t.name: p.error_code for t in answer.topics for p in t.partitions} == {
        topic: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        other: ErrorCode.NONE,
        "no-such-topic": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert committed(client, one.group_id, topic) == 5
    assert committed(client, one.group_id, other) == -1
    request.group_id = unique_topic("nobody")
    assert client.send(request).error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_offsets_of_a_deleted_topic_are_forgotten(client: SimpleClient, group: str) -> None:
    doomed = wire.create_topic(client, "doomed")
    commit(client, group, doomed, 5)
    _delete_topic(client, doomed)
    wait_until(lambda: _state(client, group) == "Dead", 20, "the end of the group")


def _state(client: SimpleClient, group_id: str) -> str:
    (group,) = client.send(DescribeGroupsRequest(groups=[group_id])).groups
    return str(group.group_state)


def _configs(client: SimpleClient, topic: str) -> dict[str, str | None]:
    resource = DescribeConfigsResource(resource_type=2, resource_name=topic)
    (result,) = client.send(DescribeConfigsRequest(resources=[resource])).results
    return {config.name: config.value for config in result.configs}


def _delete_topic(client: SimpleClient, topic: str) -> None:
    request = DeleteTopicsRequest(topic_names=[topic], timeout_ms=30_000)
    (deleted,) = client.send(request, 5).responses
    assert deleted.error_code == ErrorCode.NONE
