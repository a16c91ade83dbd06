"""Every znode that our client writes is as zk_schemas/ says, in one life of a cluster."""

import pytest

from kafkalike.model.broker import Broker, EndPoint
from kafkalike.model.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.znodes import (
    AclEntry,
    BrokerInfo,
    FeatureStatus,
    FinalizedFeatures,
    ProducerIdBlock,
    ResourcePattern,
    TokenInformation,
    sanitize,
)
from tests.support.fake_zookeeper import FakeZooKeeper
from tests.support.run import run
from tests.support.znode_schemas import schema_of, schemas, validate_tree

T0, T1 = TopicPartition("orders.v1_x", 0), TopicPartition("orders.v1_x", 1)
TOKEN_ID = "7oLyf4y3RMeRYcEdQuyqTA"
BROKERS = [
    BrokerInfo(
        Broker(
            0,
            (
                EndPoint("::1", 9092, "PLAINTEXT", "PLAINTEXT"),
                EndPoint("h-1.example", 9093, "INSIDE", "SASL_SSL"),
            ),
            "rack a",
            {"feature": (1, 3)},
        ),
        timestamp_ms=1,
    ),
    BrokerInfo(Broker(1, (EndPoint("h", 1, "SSL", "SSL"),)), version=4, jmx_port=9999),
]


async def _cluster(client: KafkaZkClient) -> None:
    await client.create_top_level_paths()
    await client.create_or_get_cluster_id("AxB34FEUQDOd39xFs3i4lQ")
    for broker in BROKERS:
        await client.register_broker(broker)
    await client.register_controller_and_increment_controller_epoch(0, 1)
    await client.create_feature_znode(FinalizedFeatures(FeatureStatus.ENABLED, {"f": (1, 2)}))
    await client.conditional_set_producer_id_block(ProducerIdBlock(0, 0, 999), 0)
    await client.generate_broker_sequence_id()


async def _topics(client: KafkaZkClient) -> None:
    await client.create_topic_assignment(T0.topic, bytes(range(16)), {T0: (0, 1), T1: (1,)})
    moving = {T0: ReplicaAssignment((0, 1), (0,), (1,)), T1: ReplicaAssignment((1,))}
    await client.set_topic_assignment(T0.topic, None, moving, 1)
    states = {
        T0: LeaderIsrAndControllerEpoch(LeaderAndIsr(0, 0, (0, 1)), 1),
        T1: LeaderIsrAndControllerEpoch(LeaderAndIsr(-1, 7, ()), 1),
    }
    await client.create_topic_partition_states_raw(states, 1)
    await client.create_delete_topic_path(T0.topic)
    await client.create_partition_reassignment({T0: (1, 0)})
    await client.create_preferred_replica_election([T0, T1])
    await client.propagate_isr_changes([T0])
    await client.propagate_log_dir_event(1)
    await client.set_or_create_consumer_offset("a group", T0, 42)


async def _configs(client: KafkaZkClient) -> None:
    scram = "salt=c2FsdA==,stored_key=a2V5,server_key=a2V5,iterations=4096"
    user, quota = sanitize("Bob Ö/*~"), {"producer_byte_rate": "1048576.0"}
    for entity_type, name, config in (
        ("topics", T0.topic, {"retention.ms": "1"}),
        ("brokers", "<default>", {"log.cleaner.threads": "2"}),
        ("brokers", "1", {"listener.name.inside.ssl.keystore.location": "/k"}),
        ("clients", sanitize("app 1"), quota),
        ("users", f"{user}/clients/{sanitize('app 1')}", quota),
        ("users", "alice", {"SCRAM-SHA-256": scram, **quota}),
        ("ips", "10.0.0.9", {"connection_creation_rate": "10"}),
    ):
        await client.set_or_create_entity_configs(entity_type, name, config)
        await client.create_config_change_notification(f"{entity_type}/{name}")


async def _security(client: KafkaZkClient) -> None:
    await client.create_acl_paths()
    await client.create_delegation_token_paths()
    acls = [AclEntry("User:bob", "Deny", "AlterConfigs", "10.0.0.1")]
    for resource in (
        ResourcePattern("TRANSACTIONAL_ID", "*"),
        ResourcePattern("GROUP", "g", "PREFIXED"),
    ):
        await client.create_acls_for_resource_if_not_exists(resource, acls)
        await client.create_acl_change_notification(resource)
    token = TokenInformation(
        token_id=TOKEN_ID,
        owner="User:alice",
        renewers=("User:bob",),
        issue_timestamp_ms=1,
        expiry_timestamp_ms=2,
        max_timestamp_ms=3,
    )
    await client.set_or_create_delegation_token(token)
    await client.create_token_change_notification(TOKEN_ID)


@pytest.fixture
def fake() -> FakeZooKeeper:
    fake = FakeZooKeeper()
    client = KafkaZkClient(fake.connected_client())
    for part in (_cluster, _topics, _configs, _security):
        run(part(client))
    return fake


def test_all_that_we_write_is_valid(fake: FakeZooKeeper) -> None:
    """M66, M67: topics, replicas, leader, ISR and configs are written by Kafka's schemas."""
    validate_tree(fake.live_tree())


def test_every_kind_of_znode_was_written(fake: FakeZooKeeper) -> None:
    written = {schema_of(path).name for path in fake.paths()}
    assert written == {schema.name for schema in schemas()} - {"zookeeper_own"}
