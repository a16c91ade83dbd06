"""Through our client the writes of a broker's life come out as Apache Kafka 2.8.2 made them."""

from dataclasses import replace
from typing import Any

import pytest

from kafkalike.model.broker import Broker, EndPoint
from kafkalike.model.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.model.uuid import uuid_from_string
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.znodes import (
    AclEntry,
    BrokerInfo,
    FeatureStatus,
    FinalizedFeatures,
    ProducerIdBlock,
    ResourcePattern,
)
from tests.support.fake_zookeeper import FakeZooKeeper
from tests.support.golden_zk import WRITES_IBP_2_6, writes_between
from tests.support.run import run

BROKER_1 = BrokerInfo(
    Broker(
        1,
        (
            EndPoint("127.0.0.1", 19101, "PLAINTEXT", "PLAINTEXT"),
            EndPoint("127.0.0.1", 19301, "SASL_PLAINTEXT", "SASL_PLAINTEXT"),
        ),
    ),
    timestamp_ms=1794984555417,
)


class Recorder:
    """A client on an empty ensemble, and what each step of it wrote."""

    def __init__(self) -> None:
        self.fake = FakeZooKeeper()
        self.client = KafkaZkClient(self.fake.connected_client())
        self.taken()

    def taken(self) -> list[dict[str, Any]]:
        """Give the writes since the last call, without the session."""
        writes = [{k: v for k, v in w.items() if k != "session"} for w in self.fake.writes]
        self.fake.writes.clear()
        return writes


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


async def _start_up(client: KafkaZkClient) -> None:
    await client.create_top_level_paths()
    await client.create_or_get_cluster_id("AxB34FEUQDOd39xFs3i4lQ")
    await client.register_broker(BROKER_1)
    await client.create_delegation_token_paths()
    await client.register_controller_and_increment_controller_epoch(1, 1794984555804)
    await client.create_feature_znode(FinalizedFeatures(FeatureStatus.ENABLED))
    _, version = await client.get_latest_producer_id_block()
    assert await client.conditional_set_producer_id_block(ProducerIdBlock(1, 0, 999), version)


def test_first_start_of_a_broker_writes_what_kafka_writes(recorder: Recorder) -> None:
    """M68: top-level paths, cluster id, ephemeral registration, election by multi."""
    run(_start_up(recorder.client))
    assert recorder.taken() == writes_between(2, 33)


def test_start_of_the_authorizer_writes_what_kafka_writes(recorder: Recorder) -> None:
    run(recorder.client.create_acl_paths())
    assert recorder.taken() == writes_between(35, 50)


def test_new_controller_clears_the_preferred_election_as_kafka_does(recorder: Recorder) -> None:
    run(_start_up(recorder.client))
    recorder.taken()
    run(recorder.client.delete_preferred_replica_election(1))
    assert recorder.taken() == writes_between(51, 51)


def test_second_broker_finds_every_top_level_path(recorder: Recorder) -> None:
    run(_start_up(recorder.client))
    recorder.taken()
    run(recorder.client.create_top_level_paths())
    run(recorder.client.create_or_get_cluster_id("another"))
    # Kafka's second broker read the cluster's id first and did not try to create it.
    assert recorder.taken() == [*writes_between(53, 66), {"op": "error", "error": -110}]


async def _create_plain(client: KafkaZkClient) -> None:
    replicas = {0: (3, 2, 1), 1: (1, 3, 2), 2: (2, 1, 3)}
    assignment = {TopicPartition("plain", n): ids for n, ids in replicas.items()}
    await client.set_or_create_entity_configs("topics", "plain", {})
    await client.create_topic_assignment(
        "plain", uuid_from_string("q48Gf8IESHut0bLeoU_wDQ"), assignment
    )
    states = {
        tp: LeaderIsrAndControllerEpoch(LeaderAndIsr(ids[0], 0, ids), 1)
        for tp, ids in assignment.items()
    }
    assert set((await client.create_topic_partition_states_raw(states, 1)).values()) == {None}


def test_topic_creation_writes_what_kafka_writes(recorder: Recorder) -> None:
    """M66: topic, replicas, leader and ISR, in Kafka's order and bytes."""
    run(_start_up(recorder.client))
    recorder.taken()
    run(_create_plain(recorder.client))
    created = recorder.taken()
    # Kafka tries to set the configs first: that is the refusal at the head.
    assert created[0] == {"op": "error", "error": -101}
    assert created == writes_between(120, 129)


def test_config_changes_write_what_kafka_writes(recorder: Recorder) -> None:
    """M67: the entity's znode, then a sequential change node, for nested names too."""
    run(_start_up(recorder.client))
    recorder.taken()

    async def change(entity_type: str, name: str, config: dict[str, str]) -> None:
        await recorder.client.set_or_create_entity_configs(entity_type, name, config)
        await recorder.client.create_config_change_notification(f"{entity_type}/{name}")

    run(change("brokers", "1", {"log.cleaner.threads": "2"}))
    run(
        change(
            "brokers",
            "<default>",
            {"log.retention.ms": "500000000", "background.threads": "8"},
        )
    )
    quotas = {
        "request_percentage": "50.0",
        "producer_byte_rate": "1048576",
        "consumer_byte_rate": "2097152",
    }
    run(change("users", "bob", quotas))
    run(change("clients", "<default>", {"producer_byte_rate": "104857600"}))
    run(change("users", "bob/clients/app%201", {"controller_mutation_rate": "5.0"}))
    expected = writes_between(302, 323)
    # Two changes of a topic came before these in the golden run.
    for entry in expected:
        if "config_change_" in entry.get("path", ""):
            number = int(entry["path"][-10:]) - 2
            entry["path"] = f"/config/changes/config_change_{number:010d}"
    assert recorder.taken() == expected


def test_topic_deletion_writes_what_kafka_writes(recorder: Recorder) -> None:
    run(_start_up(recorder.client))
    client = recorder.client
    replicas = {0: (3, 1), 1: (1, 2)}
    assignment = {TopicPartition("py-topic", n): ids for n, ids in replicas.items()}

    async def create() -> None:
        await client.set_or_create_entity_configs("topics", "py-topic", {})
        await client.create_topic_assignment(
            "py-topic", uuid_from_string("7ymVUCHdS4WVKV1IeeI5IA"), assignment
        )
        states = {
            tp: LeaderIsrAndControllerEpoch(LeaderAndIsr(ids[0], 0, ids), 1)
            for tp, ids in assignment.items()
        }
        await client.create_topic_partition_states_raw(states, 1)
        await client.create_delete_topic_path("py-topic")

    run(create())
    assert recorder.taken()[-7:] == writes_between(540, 546)

    async def delete() -> None:
        await client.delete_topic_znode("py-topic", 1)
        await client.delete_topic_configs(["py-topic"], 1)
        await client.delete_topic_deletions(["py-topic"], 1)

    run(delete())
    assert recorder.taken() == writes_between(551, 558)


def test_acl_of_a_prefix_is_written_as_kafka_writes_it(recorder: Recorder) -> None:
    run(recorder.client.create_acl_paths())
    recorder.taken()
    resource = ResourcePattern("TOPIC", "team-", "PREFIXED")
    acl = AclEntry("User:dave", "Allow", "All", "*")

    async def add_remove_and_add() -> None:
        client = recorder.client
        assert await client.create_acls_for_resource_if_not_exists(resource, [acl]) == 0
        await client.create_acl_change_notification(resource)
        assert await client.conditional_delete(resource, 0)
        await client.create_acl_change_notification(resource)
        assert await client.create_acls_for_resource_if_not_exists(resource, [acl]) == 0
        await client.create_acl_change_notification(resource)

    run(add_remove_and_add())
    assert recorder.taken() == [*writes_between(282, 283), *writes_between(292, 295)]


def test_isr_change_before_alter_isr_writes_what_kafka_writes(recorder: Recorder) -> None:
    """The leader's conditional write, its notification, and the controller that clears it."""
    run(_start_up(recorder.client))
    client, tp = recorder.client, TopicPartition("isr", 0)
    first = LeaderAndIsr(2, 0, (2, 3, 1))

    async def change() -> None:
        await client.create_topic_assignment("isr", None, {tp: first.isr})
        states = {tp: LeaderIsrAndControllerEpoch(first, 1)}
        await client.create_topic_partition_states_raw(states, 1)
        recorder.taken()
        assert await client.conditional_update_isr(tp, replace(first, isr=(2, 1)), 1)
        await client.propagate_isr_changes([tp])
        (number,) = await client.get_all_isr_change_notifications()
        await client.delete_isr_change_notifications(1, [number])

    run(change())
    assert recorder.taken() == writes_between(122, 124, WRITES_IBP_2_6)


def test_moved_leader_is_written_as_kafka_writes_it(recorder: Recorder) -> None:
    run(_start_up(recorder.client))
    client, tp = recorder.client, TopicPartition("isr", 1)
    states = {tp: LeaderIsrAndControllerEpoch(LeaderAndIsr(3, 0, (3, 2, 1)), 1)}

    async def move() -> None:
        await client.create_topic_assignment("isr", None, {tp: (3, 2, 1)})
        await client.create_topic_partition_states_raw(states, 1)
        for version in range(3):
            state = LeaderAndIsr(3, 0, (3, 2, 1), version)
            assert await client.conditional_update_isr(tp, state, 1)
        recorder.taken()
        moved = LeaderAndIsr(1, 1, (2, 1), 3)
        result = await client.update_leader_and_isr({tp: moved}, 1, 1)
        assert result.finished == {tp: moved.with_zk_version(4)}

    run(move())
    assert recorder.taken() == writes_between(141, 141, WRITES_IBP_2_6)
