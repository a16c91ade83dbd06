"""ACLs and quotas on real brokers: two of them, so that what is forwarded is limited too.

Everybody is User:ANONYMOUS here and may do what has no ACL; an ACL for somebody else shuts him out.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafkalike.client import KafkaAdminClient
from kafkalike.client.admin.values import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ResourcePattern,
    ResourceType,
)
from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalike.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkalike.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkalike.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalike.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.support import wire
from tests.support.broker import Broker
from tests.support.new_broker import STARTED
from tests.support.target import unique_topic
from tests.support.waiting import wait_until

pytestmark = pytest.mark.ensemble

PROPERTIES = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
    "quota.window.num": "3",
}
NO_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.fixture(scope="module")
def brokers(broker_factory: Callable[..., Broker]) -> list[Broker]:
    """Two brokers of one cluster."""
    both = [broker_factory(broker_id=number, properties=PROPERTIES) for number in (1, 2)]
    for broker in both:
        broker.wait_for_log(STARTED)
    return both


@pytest.fixture(scope="module")
def admin(brokers: list[Broker]) -> Iterator[KafkaAdminClient]:
    """An admin client."""
    client = KafkaAdminClient(bootstrap_servers=brokers[0].bootstrap_servers)
    yield client
    client.close()


@pytest.fixture
def clients(brokers: list[Broker]) -> Iterator[list[SimpleClient]]:
    """A connection to each broker."""
    both = [SimpleClient("127.0.0.1", broker.port) for broker in brokers]
    yield both
    for client in both:
        client.close()


def for_bob(kind: ResourceType, name: str, operation: ACLOperation = ACLOperation.ALL) -> ACL:
    return ACL("User:bob", "*", operation, ACLPermissionType.ALLOW, ResourcePattern(kind, name))


def all_of(acl: ACL) -> ACLFilter:
    pattern = acl.resource_pattern
    return ACLFilter(None, None, ACLOperation.ANY, ACLPermissionType.ANY, pattern)


def shut(admin: KafkaAdminClient, clients: list[SimpleClient], topic: str) -> None:
    """Leave a topic to bob, and wait until both brokers know."""
    made = admin.create_acls([for_bob(ResourceType.TOPIC, topic)])
    assert made["failed"] == []
    for client in clients:
        wait_until(lambda c=client: describe(c, topic).error_code == NO_TOPIC)


def describe(client: SimpleClient, topic: str) -> Any:
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
    )
    (found,) = client.send(request).topics
    return found


def test_topic_of_somebody_else_is_shut_at_every_broker(
    admin: KafkaAdminClient, clients: list[SimpleClient]
) -> None:
    """M81: also at the broker that would send a request on to the leader or the controller."""
    topic = wire.create_topic(clients[0])
    for client in clients:
        wait_until(lambda c=client: wire.append(c, topic, b"before") >= 0)
    shut(admin, clients, topic)
    for client in clients:
        assert wire.produce(client, topic, wire.batch(b"denied")).error_code == NO_TOPIC
        assert wire.fetch(client, topic, 0).error_code == NO_TOPIC
        deleted = client.send(
            DeleteTopicsRequest(topics=[DeleteTopicState(name=topic, topic_id=b"\0" * 16)])
        )
        assert deleted.responses[0].error_code == NO_TOPIC
        assert topic not in {
            found.name for found in client.send(MetadataRequest(topics=None)).topics
        }
    admin.delete_acls([all_of(for_bob(ResourceType.TOPIC, topic))])
    for client in clients:
        wait_until(lambda c=client: describe(c, topic).error_code == 0)
        assert len(wire.fetch_records(client, topic, 0)) == 2


def test_acl_is_described_as_it_was_made(admin: KafkaAdminClient) -> None:
    """M70: Describe/Create/DeleteAcls."""
    acl = for_bob(ResourceType.TRANSACTIONAL_ID, unique_topic("txn"), ACLOperation.WRITE)
    admin.create_acls([acl])
    wanted = all_of(acl)
    assert admin.describe_acls(wanted) == [acl]
    assert admin.delete_acls([wanted]) == [[acl]]
    assert admin.describe_acls(wanted) == []


def test_offsets_of_a_shut_topic_are_not_committed_wherever_the_coordinator_is(
    admin: KafkaAdminClient, clients: list[SimpleClient]
) -> None:
    """M56: requests for a coordinator are authorized by the broker that is asked."""
    open_topic, shut_topic = wire.create_topic(clients[0]), wire.create_topic(clients[0])
    shut(admin, clients, shut_topic)
    request = OffsetCommitRequest(
        group_id=unique_topic("group"),
        topics=[
            OffsetCommitRequestTopic(
                name=name,
                partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=1)],
            )
            for name in (open_topic, shut_topic)
        ],
    )

    def codes(client: SimpleClient) -> dict[str, int]:
        answer = client.send(request)
        return {topic.name: topic.partitions[0].error_code for topic in answer.topics}

    clients[0].send(FindCoordinatorRequest(key=request.group_id, key_type=0))  # it makes the topic
    for client in clients:
        wait_until(lambda c=client: codes(c) == {open_topic: 0, shut_topic: NO_TOPIC})


def test_denied_request_is_in_the_log(
    brokers: list[Broker], admin: KafkaAdminClient, clients: list[SimpleClient]
) -> None:
    """M81: the log names who was denied what."""
    topic = wire.create_topic(clients[0])
    shut(admin, clients, topic)
    wire.produce(clients[0], topic, wire.batch(b"x"))
    brokers[0].wait_for_log(
        "Principal = User:ANONYMOUS is Denied Operation = Write from host = 127.0.0.1 on resource "
        f"= Topic:LITERAL:{topic} for request = PRODUCE"
    )


# --- quotas


def produce(client: SimpleClient, topic: str, value: bytes) -> Any:
    return client.send(wire.produce_request(topic, wire.batch(value)))


def a_client(broker: Broker, client_id: str) -> SimpleClient:
    return SimpleClient("127.0.0.1", broker.port, client_id=client_id)


def test_producer_beyond_its_quota_is_told_to_wait_and_made_to(
    brokers: list[Broker], admin: KafkaAdminClient, clients: list[SimpleClient]
) -> None:
    """Throttle time in the answer, then a muted connection (KIP-219)."""
    topic = wire.create_topic(clients[0])
    slow = unique_topic("slow")
    admin.alter_client_quotas([({"client-id": slow}, {"producer_byte_rate": 20_000.0})])
    with a_client(brokers[0], slow) as client:
        wait_until(lambda: produce(client, topic, b"x" * 20_000).throttle_time_ms > 0)
        began = time.monotonic()
        waited_ms = produce(client, topic, b"x" * 40_000).throttle_time_ms
        sent_s = time.monotonic()
        assert produce(client, topic, b"x") is not None
        assert time.monotonic() - sent_s >= waited_ms / 1000 * 0.9
        assert began < sent_s
    assert produce(clients[0], topic, b"x" * 40_000).throttle_time_ms == 0


def test_consumer_beyond_its_quota_gets_nothing_but_the_time_to_wait(
    brokers: list[Broker], admin: KafkaAdminClient, clients: list[SimpleClient]
) -> None:
    """The quota consumer_byte_rate of a client id."""
    topic = wire.create_topic(clients[0])
    wait_until(lambda: wire.append(clients[0], topic, b"x" * 50_000) == 0)
    slow = unique_topic("slow")
    admin.alter_client_quotas([({"client-id": slow}, {"consumer_byte_rate": 30_000.0})])
    with a_client(brokers[0], slow) as client:

        def is_throttled() -> bool:
            answer = client.send(wire.fetch_request(topic, 0))
            return answer.throttle_time_ms > 0 and answer.responses == []

        wait_until(is_throttled, 20)
    assert len(wire.fetch_records(clients[0], topic, 0)) == 1


def test_quotas_are_described_as_they_were_set(admin: KafkaAdminClient) -> None:
    """Describe/AlterClientQuotas, for users, client ids, both, and addresses."""
    user = unique_topic("user =,/ ü")
    quotas = {"producer_byte_rate": 1000.0, "request_percentage": 12.5}
    entities: list[dict[str, str | None]] = [
        {"user": user},
        {"user": user, "client-id": "app 1"},
        {"user": user, "client-id": None},
        {"client-id": user},
    ]
    admin.alter_client_quotas([(entity, quotas) for entity in entities])
    admin.alter_client_quotas([({"ip": "10.9.8.7"}, {"connection_creation_rate": 7.0})])
    found = admin.describe_client_quotas({"user": user})
    assert sorted(map(repr, found)) == sorted(
        repr({"entity": entity, "values": quotas}) for entity in entities[:3]
    )
    assert admin.describe_client_quotas({"client-id": user}) == [
        {"entity": {"client-id": user}, "values": quotas}
    ]
    assert admin.describe_client_quotas({"ip": "10.9.8.7"}) == [
        {"entity": {"ip": "10.9.8.7"}, "values": {"connection_creation_rate": 7.0}}
    ]
    admin.alter_client_quotas([({"user": user}, dict.fromkeys(quotas))])
    assert len(admin.describe_client_quotas({"user": user})) == 2


def test_who_creates_too_many_partitions_is_refused_until_there_is_room_again(
    brokers: list[Broker], admin: KafkaAdminClient, clients: list[SimpleClient]
) -> None:
    """The quota controller_mutation_rate (KIP-599)."""
    eager = unique_topic("eager")
    admin.alter_client_quotas([({"client-id": eager}, {"controller_mutation_rate": 1.0})])
    controller = clients[0].send(MetadataRequest(topics=[])).controller_id
    broker = brokers[controller - 1]

    def create(client: SimpleClient, version: int = 7) -> Any:
        topic = CreatableTopic(name=unique_topic("t"), num_partitions=9, replication_factor=1)
        return client.send(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), version)

    with a_client(broker, eager) as client:

        def is_refused() -> bool:
            answer = create(client)
            refused = answer.topics[0].error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
            return refused and answer.throttle_time_ms > 0

        wait_until(is_refused, 30)
    admin.alter_client_quotas([({"client-id": eager}, {"controller_mutation_rate": None})])
