"""The handlers of the group APIs: what of a request reaches the coordinator, and what comes back.

Every version of each against Apache Kafka: tests/conformance/test_wire_groups.py.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from kafkalike.coordinator.group.group_coordinator import GroupCoordinator
from kafkalike.coordinator.group.group_metadata import GroupMetadata
from kafkalike.coordinator.group.group_offsets import OffsetAndMetadata
from kafkalike.model.topic import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.consumer_protocol import encode_subscription
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkalike.protocol.messages.heartbeat import HeartbeatRequest
from kafkalike.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkalike.protocol.messages.leave_group import LeaveGroupRequest
from kafkalike.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalike.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from kafkalike.protocol.messages.sync_group import SyncGroupRequest
from kafkalike.protocol.schema import Message
from kafkalike.zk.errors import ZkError
from tests.support.admin_broker import AdminBroker
from tests.support.group_world import FakeReplicas
from tests.support.log_builder import run_at_once
from tests.support.run import run

TOPIC = "orders"
TP = TopicPartition(TOPIC, 0)
PARTITIONS = 4


class GroupBroker(AdminBroker):
    """A broker that coordinates all groups."""

    group_coordinator: GroupCoordinator

    def __init__(
        self, properties: Mapping[str, str] | None = None, *, is_elected: bool = True
    ) -> None:
        super().__init__({"group.initial.rebalance.delay.ms": "0", **(properties or {})})
        self.group_coordinator = GroupCoordinator(
            self.config,
            FakeReplicas(PARTITIONS),
            self.time,
            run_at_once,
            lambda: "uuid",
            partition_count=PARTITIONS,
        )
        if is_elected:
            for partition in range(PARTITIONS):
                self.group_coordinator.on_election(partition, 0)
            self.clock.advance(0)  # what there is to load is loaded in later turns
        self.create_topic(TOPIC, {0: (1,)})

    def ask_slowly(self, request: Message, version: int | None = None) -> Any:
        """Ask, and let the answer come in a later turn."""
        answer = self.begin(request, version)
        self.clock.pump([0] * 5)
        found: list[Any] = []
        answer.addBoth(found.append)
        assert found, "no answer"
        return found[0]

    @property
    def group(self) -> GroupMetadata:
        found = self.group_coordinator.store.get("g")
        assert found is not None
        return found

    @property
    def committed(self) -> OffsetAndMetadata | None:
        return self.group.offsets.get(TP)


def join(**fields: Any) -> JoinGroupRequest:
    protocol = JoinGroupRequestProtocol(name="range", metadata=encode_subscription([TOPIC]))
    return JoinGroupRequest(
        **{
            "group_id": "g",
            "session_timeout_ms": 7000,
            "rebalance_timeout_ms": 9000,
            "protocol_type": "consumer",
            "protocols": [protocol],
            **fields,
        }
    )


def commit(topic: str = TOPIC, **fields: Any) -> OffsetCommitRequest:
    request_fields = {
        name: fields.pop(name)
        for name in ("retention_time_ms", "group_instance_id", "generation_id", "member_id")
        if name in fields
    }
    partition = OffsetCommitRequestPartition(
        **{"partition_index": 0, "committed_offset": 5, "committed_metadata": "", **fields}
    )
    topics = [OffsetCommitRequestTopic(name=topic, partitions=[partition])]
    return OffsetCommitRequest(group_id="g", topics=topics, **request_fields)


def fetch(topic: str = TOPIC) -> OffsetFetchRequest:
    wanted = [OffsetFetchRequestTopic(name=topic, partition_indexes=[0])]
    return OffsetFetchRequest(group_id="g", topics=wanted)


def code_of(answer: Any) -> ErrorCode:
    """The one error code of an answer, wherever it is."""
    if not hasattr(answer, "error_code"):
        ((answer,),) = (topic.partitions for topic in answer.topics)
    return ErrorCode(answer.error_code)


# --- JoinGroup


def test_first_version_has_one_timeout_for_session_and_rebalance() -> None:
    broker = GroupBroker()
    broker.ask_slowly(join(rebalance_timeout_ms=-1), 0)
    (member,) = broker.group.members.values()
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (7000, 7000)
    broker = GroupBroker()
    broker.ask_slowly(join(), 1)
    (member,) = broker.group.members.values()
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (7000, 9000)


def test_member_is_known_by_client_and_address() -> None:
    broker = GroupBroker()
    answer = broker.ask_slowly(join(), 3)
    assert answer.member_id == "a-client-uuid"
    (member,) = broker.group.members.values()
    assert (member.client_id, member.client_host) == ("a-client", "/127.0.0.1")


@pytest.mark.parametrize(
    ("version", "instance", "code"),
    [
        (3, None, ErrorCode.NONE),
        (4, None, ErrorCode.MEMBER_ID_REQUIRED),
        (5, "i", ErrorCode.NONE),
    ],
)
def test_only_newer_clients_without_instance_id_have_to_come_back(
    version: int, instance: str | None, code: ErrorCode
) -> None:
    answer = GroupBroker().ask_slowly(join(group_instance_id=instance), version)
    assert answer.error_code == code


def test_protocol_that_is_named_twice_counts_once() -> None:
    twice = [JoinGroupRequestProtocol(name="range", metadata=data) for data in (b"one", b"two")]
    broker = GroupBroker()
    broker.ask_slowly(join(protocols=twice), 3)
    (member,) = broker.group.members.values()
    assert member.supported_protocols == (("range", b"one"),)


# --- static members in an old cluster


@pytest.mark.parametrize(
    "request_",
    [
        join(group_instance_id="i"),
        SyncGroupRequest(group_id="g", group_instance_id="i"),
        HeartbeatRequest(group_id="g", group_instance_id="i"),
        commit(group_instance_id="i"),
    ],
    ids=lambda request: type(request).__name__,
)
def test_static_members_need_brokers_that_know_them(request_: Message) -> None:
    broker = GroupBroker({"inter.broker.protocol.version": "2.2"})
    assert code_of(broker.ask_slowly(request_)) is ErrorCode.UNSUPPORTED_VERSION


# --- OffsetCommit and OffsetFetch


def test_commit_bears_the_time_of_the_broker_and_no_expiry() -> None:
    broker = GroupBroker()
    broker.clock.advance(1000)
    assert code_of(broker.ask(commit(committed_leader_epoch=3, committed_metadata="m"))) == 0
    assert broker.committed == OffsetAndMetadata(
        offset=5, leader_epoch=3, metadata="m", commit_timestamp=1_000_000
    )


def test_client_of_version_1_sets_the_commit_time() -> None:
    broker = GroupBroker()
    broker.ask(commit(commit_timestamp=77), 1)
    assert broker.committed is not None
    assert broker.committed.commit_timestamp == 77


@pytest.mark.parametrize(("retention_ms", "expires"), [(-1, None), (5000, 1_005_000)])
def test_client_of_versions_2_to_4_sets_the_retention(
    retention_ms: int, expires: int | None
) -> None:
    broker = GroupBroker()
    broker.clock.advance(1000)
    broker.ask(commit(retention_time_ms=retention_ms), 4)
    assert broker.committed is not None
    assert broker.committed.expire_timestamp == expires


def test_commit_for_a_topic_that_is_not_there_is_refused() -> None:
    broker = GroupBroker()
    assert code_of(broker.ask(commit("nothing"))) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert broker.group_coordinator.store.get("g") is None


def test_version_0_commits_to_zookeeper_and_fetches_from_there() -> None:
    broker = GroupBroker()
    assert code_of(broker.ask(commit(committed_offset=9), 0)) is ErrorCode.NONE
    assert run(broker.zk.get_consumer_offset("g", TP)) == 9
    ((found,),) = (topic.partitions for topic in broker.ask(fetch(), 0).topics)
    assert (found.committed_offset, found.error_code) == (9, ErrorCode.NONE)
    ((other,),) = (topic.partitions for topic in broker.ask(fetch("nothing"), 0).topics)
    assert other.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert broker.group_coordinator.store.get("g") is None


def test_zookeeper_that_refuses_a_commit_is_an_error_of_the_partition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker = GroupBroker()

    async def refuse(*_: object) -> None:
        raise ZkError("no")

    monkeypatch.setattr(broker.zk, "set_or_create_consumer_offset", refuse)
    monkeypatch.setattr(broker.zk, "get_consumer_offset", refuse)
    assert code_of(broker.ask(commit(), 0)) is ErrorCode.UNKNOWN_SERVER_ERROR
    ((found,),) = (topic.partitions for topic in broker.ask(fetch(), 0).topics)
    assert found.error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_error_of_a_group_is_told_per_partition_to_the_oldest_clients() -> None:
    broker = GroupBroker(is_elected=False)
    old = broker.ask(fetch(), 1)
    ((found,),) = (topic.partitions for topic in old.topics)
    assert (found.committed_offset, found.error_code) == (-1, ErrorCode.NOT_COORDINATOR)
    new = broker.ask(fetch(), 2)
    assert (new.error_code, list(new.topics)) == (ErrorCode.NOT_COORDINATOR, [])


# --- LeaveGroup


def test_group_that_is_elsewhere_says_nothing_of_members() -> None:
    broker = GroupBroker(is_elected=False)
    request = LeaveGroupRequest(group_id="g", member_id="m")
    for version in (2, 3):
        answer = broker.ask(request, version)
        assert (answer.error_code, list(answer.members)) == (ErrorCode.NOT_COORDINATOR, [])


# --- FindCoordinator


@pytest.mark.parametrize(
    ("key_type", "topic", "partitions"),
    [(0, GROUP_METADATA_TOPIC, 50), (1, TRANSACTION_STATE_TOPIC, 50)],
)
def test_topic_of_the_coordinator_is_created_on_demand(
    key_type: int, topic: str, partitions: int
) -> None:
    """M60: `__consumer_offsets` has 50 partitions and is compacted."""
    broker = GroupBroker(
        {
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
        }
    )
    request = FindCoordinatorRequest(key="k", key_type=key_type)
    first = broker.ask(request)
    assert (first.error_code, first.node_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)
    broker.react()
    assert len(broker.metadata_cache.snapshot.topics[topic]) == partitions
    assert run(broker.zk.get_entity_configs("topics", topic))["cleanup.policy"] == "compact"
    answer = broker.ask(request)
    assert (answer.error_code, answer.node_id, answer.host, answer.port) == (0, 1, "host1", 9092)


def test_topic_is_not_created_with_too_few_brokers() -> None:
    broker = GroupBroker()
    for _ in range(2):
        answer = broker.ask(FindCoordinatorRequest(key="k"))
        assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        broker.react()
    assert GROUP_METADATA_TOPIC not in broker.metadata_cache.snapshot.topics


def test_coordinator_whose_broker_is_away_is_not_available() -> None:
    broker = GroupBroker()
    broker.create_topic(GROUP_METADATA_TOPIC, {0: (7,)})
    answer = broker.ask(FindCoordinatorRequest(key="k"))
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        "The coordinator is not available.",
    )
