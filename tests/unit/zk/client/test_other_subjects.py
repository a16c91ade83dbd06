"""Configs, wishes of tools, notifications, cluster facts, ACLs and tokens."""

import pytest

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ControllerMovedError
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.errors import NodeExistsError
from kafkalike.zk.ops import UNKNOWN_VERSION
from kafkalike.zk.znodes import (
    AclEntry,
    FeatureStatus,
    FinalizedFeatures,
    ProducerIdBlock,
    ResourcePattern,
    TokenInformation,
)
from tests.support.fake_zookeeper import FakeZooKeeper
from tests.support.run import result_of, run, start

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


@pytest.fixture
def fake() -> FakeZooKeeper:
    return FakeZooKeeper()


@pytest.fixture
def client(fake: FakeZooKeeper) -> KafkaZkClient:
    """A controller of zk version 1."""
    client = KafkaZkClient(fake.connected_client())
    run(client.create_top_level_paths())
    run(client.register_controller_and_increment_controller_epoch(1, 0))
    return client


def test_offsets_of_old_clients_are_set_and_read(
    client: KafkaZkClient, fake: FakeZooKeeper
) -> None:
    assert run(client.get_consumer_offset("g", A1)) is None
    for offset in (5, 7):
        run(client.set_or_create_consumer_offset("g", A1, offset))
        assert run(client.get_consumer_offset("g", A1)) == offset
    assert fake.live_tree()["/consumers/g/offsets/a/1"].data == b"7"
    assert run(client.get_consumer_offset("g", A0)) is None


def test_configs_are_set_read_and_deleted(client: KafkaZkClient) -> None:
    assert run(client.get_entity_configs("topics", "a")) == {}
    run(client.set_or_create_entity_configs("topics", "a", {"retention.ms": "1"}))
    run(client.set_or_create_entity_configs("topics", "a", {"retention.ms": "2"}))
    run(client.set_or_create_entity_configs("users", "bob/clients/app%201", {"x": "y"}))
    assert run(client.get_entity_configs("topics", "a")) == {"retention.ms": "2"}
    assert run(client.get_entity_configs("users", "bob")) == {}
    assert run(client.get_topic_configs(["a", "b"])) == {"a": {"retention.ms": "2"}, "b": {}}
    assert run(client.get_all_entities_with_config("topics")) == ["a"]
    run(client.delete_topic_configs(["a", "absent"], 1))
    assert run(client.get_all_entities_with_config("topics")) == []


def test_config_changes_are_numbered(fake: FakeZooKeeper, client: KafkaZkClient) -> None:
    run(client.create_config_change_notification("topics/a"))
    run(client.create_config_change_notification("topics/b"))
    assert run(client.get_children("/config/changes")) == [
        "config_change_0000000000",
        "config_change_0000000001",
    ]
    assert fake.data("/config/changes/config_change_0000000001") == (
        b'{"version":2,"entity_path":"topics/b"}'
    )


def test_config_created_by_another_between_our_two_tries_is_overwritten() -> None:
    fake = FakeZooKeeper(is_delayed=True)
    both = [KafkaZkClient(fake.connected_client()) for _ in range(2)]
    writing = [
        start(client.set_or_create_entity_configs("topics", "a", {"x": str(n)}))
        for n, client in enumerate(both)
    ]
    fake.pump(30)
    for one in writing:
        result_of(one)
    assert fake.data("/config/topics/a") == b'{"version":1,"config":{"x":"1"}}'


def test_topic_deletions_are_asked_for_and_done(client: KafkaZkClient) -> None:
    run(client.create_delete_topic_path("a"))
    with pytest.raises(NodeExistsError):
        run(client.create_delete_topic_path("a"))
    assert run(client.is_topic_marked_for_deletion("a"))
    assert run(client.get_topic_deletions()) == ["a"]
    with pytest.raises(ControllerMovedError):
        run(client.delete_topic_deletions(["a"], 0))
    run(client.delete_topic_deletions(["a", "absent"], 1))
    assert not run(client.is_topic_marked_for_deletion("a"))


def test_reassignment_is_asked_for_narrowed_and_done(client: KafkaZkClient) -> None:
    assert run(client.get_partition_reassignment()) == {}
    run(client.create_partition_reassignment({A0: (1, 2), A1: (2, 1)}))
    assert run(client.reassign_partitions_in_progress())
    assert run(client.get_partition_reassignment()) == {A0: (1, 2), A1: (2, 1)}
    run(client.set_or_create_partition_reassignment({A1: (2, 1)}, 1))
    assert run(client.get_partition_reassignment()) == {A1: (2, 1)}
    run(client.delete_partition_reassignment(1))
    assert not run(client.reassign_partitions_in_progress())
    run(client.set_or_create_partition_reassignment({A0: (3,)}, 1))
    assert run(client.get_partition_reassignment()) == {A0: (3,)}


def test_reassignment_that_cannot_be_read_is_ignored(client: KafkaZkClient) -> None:
    run(client.create_recursive("/admin/reassign_partitions", b"{broken"))
    assert run(client.get_partition_reassignment()) == {}


def test_preferred_election_is_asked_for_and_done(client: KafkaZkClient) -> None:
    assert run(client.get_preferred_replica_election()) == ()
    run(client.create_preferred_replica_election([A0, A1]))
    assert run(client.get_preferred_replica_election()) == (A0, A1)
    run(client.delete_preferred_replica_election(1))
    assert run(client.get_preferred_replica_election()) == ()


def test_isr_changes_are_told_read_and_cleared(client: KafkaZkClient) -> None:
    for partitions in ([A0], [A1], [A0, A1]):
        run(client.propagate_isr_changes(partitions))
    numbers = run(client.get_all_isr_change_notifications())
    assert numbers == ["0000000000", "0000000001", "0000000002"]
    read = run(client.get_partitions_from_isr_change_notifications([*numbers, "0000000009"]))
    assert read == [A0, A1, A0, A1]
    run(client.delete_isr_change_notifications(1, numbers[:1]))
    assert run(client.get_all_isr_change_notifications()) == numbers[1:]
    run(client.delete_isr_change_notifications(1))
    assert run(client.get_all_isr_change_notifications()) == []


def test_log_dir_events_are_told_read_and_cleared(client: KafkaZkClient) -> None:
    for broker_id in (2, 3):
        run(client.propagate_log_dir_event(broker_id))
    numbers = run(client.get_all_log_dir_event_notifications())
    assert run(client.get_broker_ids_from_log_dir_events([*numbers, "0000000009"])) == [2, 3]
    run(client.delete_log_dir_event_notifications(1, numbers[1:]))
    assert run(client.get_all_log_dir_event_notifications()) == numbers[:1]
    run(client.delete_log_dir_event_notifications(1))
    assert run(client.get_all_log_dir_event_notifications()) == []


def test_first_broker_names_the_cluster(client: KafkaZkClient) -> None:
    assert run(client.get_cluster_id()) is None
    assert run(client.create_or_get_cluster_id("first")) == "first"
    assert run(client.create_or_get_cluster_id("second")) == "first"
    assert run(client.get_cluster_id()) == "first"


def test_features_count_their_epochs(client: KafkaZkClient) -> None:
    assert run(client.get_features()) == (None, UNKNOWN_VERSION)
    enabled = FinalizedFeatures(FeatureStatus.ENABLED)
    run(client.create_feature_znode(enabled))
    assert run(client.get_features()) == (enabled, 0)
    raised = FinalizedFeatures(FeatureStatus.ENABLED, {"f": (1, 2)})
    assert run(client.update_feature_znode(raised)) == 1
    assert run(client.get_features()) == (raised, 1)
    run(client.delete_feature_znode())
    assert run(client.get_features()) == (None, UNKNOWN_VERSION)


def test_blocks_of_producer_ids_are_never_taken_twice(fake: FakeZooKeeper) -> None:
    zk = fake.connected_client()
    client = KafkaZkClient(zk)
    run(client.create_top_level_paths())
    assert run(client.get_latest_producer_id_block()) == (None, 0)
    mine, theirs = ProducerIdBlock(1, 0, 999), ProducerIdBlock(2, 0, 999)
    assert run(client.conditional_set_producer_id_block(mine, 0))
    assert not run(client.conditional_set_producer_id_block(theirs, 0))
    assert run(client.get_latest_producer_id_block()) == (mine, 1)
    zk.lose_next_answer()
    taking = start(client.conditional_set_producer_id_block(ProducerIdBlock(1, 1000, 1999), 1))
    zk.resume()
    assert result_of(taking) is True


def test_acls_change_only_from_the_version_that_was_read(client: KafkaZkClient) -> None:
    run(client.create_acl_paths())
    topic = ResourcePattern("TOPIC", "a")
    acls = (AclEntry("User:bob", "Allow", "Read", "*"),)
    assert run(client.get_versioned_acls_for_resource(topic)) == ((), UNKNOWN_VERSION)
    assert run(client.create_acls_for_resource_if_not_exists(topic, acls)) == 0
    assert run(client.create_acls_for_resource_if_not_exists(topic, acls)) is None
    assert run(client.get_versioned_acls_for_resource(topic)) == (acls, 0)
    assert run(client.conditional_set_acls_for_resource(topic, [], 0)) == 1
    assert run(client.conditional_set_acls_for_resource(topic, acls, 0)) is None
    with pytest.raises(ValueError, match="-1 is not a version"):
        run(client.conditional_set_acls_for_resource(topic, acls, -1))
    assert run(client.conditional_delete(topic, 0)) is False
    assert run(client.get_resource_names("LITERAL", "Topic")) == ["a"]
    assert run(client.conditional_delete(topic, 1)) is True
    assert run(client.conditional_delete(topic, 1)) is True
    assert "TransactionalId" in run(client.get_resource_types("PREFIXED"))


def test_literal_and_prefixed_acl_changes_go_separate_ways(
    fake: FakeZooKeeper, client: KafkaZkClient
) -> None:
    run(client.create_acl_paths())
    run(client.create_acl_change_notification(ResourcePattern("GROUP", "g")))
    run(client.create_acl_change_notification(ResourcePattern("GROUP", "g", "PREFIXED")))
    assert fake.data("/kafka-acl-changes/acl_changes_0000000000") == b"GROUP:g"
    assert run(client.get_children("/kafka-acl-extended-changes")) == ["acl_changes_0000000000"]


def test_tokens_are_written_read_and_deleted(fake: FakeZooKeeper, client: KafkaZkClient) -> None:
    run(client.create_delegation_token_paths())
    token = TokenInformation(
        token_id="t",
        owner="User:alice",
        renewers=("User:bob",),
        issue_timestamp_ms=1,
        expiry_timestamp_ms=2,
        max_timestamp_ms=3,
    )
    assert run(client.get_delegation_token_info("t")) is None
    run(client.set_or_create_delegation_token(token))
    run(client.set_or_create_delegation_token(token))
    run(client.create_token_change_notification("t"))
    assert run(client.get_delegation_token_info("t")) == token
    assert run(client.get_delegation_token_ids()) == ["t"]
    assert fake.data("/delegation_token/token_changes/token_change_0000000000") == b"t"
    assert run(client.delete_delegation_token("t")) is True
    assert run(client.delete_delegation_token("t")) is False
