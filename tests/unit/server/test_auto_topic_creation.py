"""Topics that are created because somebody asked for them."""

import json

import pytest

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.protocol.errors import ErrorCode
from kafkalike.server.auto_topic_creation import AutoTopicCreation, creatable_topic
from kafkalike.server.topic_admin import TopicAdmin
from kafkalike.zk.client import KafkaZkClient
from tests.support.admin_broker import PROPERTIES, AdminBroker
from tests.support.golden_zk import GOLDEN
from tests.support.run import result_of, run, start


def test_client_is_told_to_ask_again_for_leaders() -> None:
    broker = AdminBroker({"num.partitions": "3"})
    created = run(broker.auto_topic_creation.create(["t"]))
    assert created == [("t", ErrorCode.LEADER_NOT_AVAILABLE)]
    broker.react()
    assert len(broker.metadata_cache.snapshot.topics["t"]) == 3


def test_each_topic_gets_its_own_answer_in_order() -> None:
    broker = AdminBroker()
    broker.create_topic("there", {0: (1,)})
    created = run(broker.auto_topic_creation.create(["a", "b c", "there"]))
    assert created == [
        ("a", ErrorCode.LEADER_NOT_AVAILABLE),
        ("b c", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("there", ErrorCode.LEADER_NOT_AVAILABLE),
    ]


def test_error_of_the_creation_is_told() -> None:
    broker = AdminBroker({"default.replication.factor": "3"})
    created = run(broker.auto_topic_creation.create(["t"]))
    assert created == [("t", ErrorCode.INVALID_REPLICATION_FACTOR)]


def test_second_asker_does_not_create_it_again() -> None:
    broker = AdminBroker()
    client = broker.zookeeper.connected_client()
    zk = KafkaZkClient(client)
    admin = TopicAdmin(broker.dynamic_config, broker.metadata_cache, zk, broker.time, broker.random)
    creation = AutoTopicCreation(broker.dynamic_config, admin)
    client.suspend()
    first = start(creation.create(["t"]))
    assert run(creation.create(["t"])) == [("t", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    client.resume()
    assert result_of(first) == [("t", ErrorCode.LEADER_NOT_AVAILABLE)]
    # Once it is done, the next asker may try again.
    assert run(creation.create(["t"])) == [("t", ErrorCode.LEADER_NOT_AVAILABLE)]


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state"])
def test_internal_topic_is_configured_as_kafka_does(topic: str) -> None:
    tree = json.loads((GOLDEN / "zk_tree.json").read_text())["steady"]
    broker = AdminBroker(
        {
            "offsets.topic.num.partitions": "4",
            "transaction.state.log.num.partitions": "4",
            "offsets.topic.replication.factor": "3",
            "transaction.state.log.replication.factor": "3",
        },
        brokers=3,
    )
    run(broker.auto_topic_creation.create([topic]))
    path = f"/config/topics/{topic}"
    assert (broker.zookeeper.data(path) or b"").decode() == tree[path]["data"]
    partitions = json.loads(tree[f"/brokers/topics/{topic}"]["data"])["partitions"]
    broker.react()
    created = broker.metadata_cache.snapshot.topics[topic]
    assert len(created) == len(partitions)
    assert {len(state.replicas) for state in created.values()} == {3}


def test_other_topic_has_no_settings_of_its_own() -> None:
    config = BrokerConfig.from_properties(PROPERTIES | {"num.partitions": "7"})
    topic = creatable_topic("t", config)
    assert (topic.num_partitions, topic.replication_factor, topic.configs) == (7, 1, [])
