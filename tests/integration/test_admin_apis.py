"""Admin APIs of a running broker: each at every version, and through clients' admin classes."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import confluent_kafka.admin as confluent
import kafka
import kafka.admin
import pytest
from kafka.errors import TopicAlreadyExistsError
from kazoo.client import KazooClient

from kafkalike.client.simple_client import SimpleClient
from kafkalike.model.uuid import ZERO_UUID
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages import alter_configs, incremental_alter_configs
from kafkalike.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from kafkalike.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafkalike.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalike.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkalike.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkalike.protocol.messages.describe_cluster import DescribeClusterRequest
from kafkalike.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kafkalike.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from kafkalike.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from tests.support.broker import Broker
from tests.support.target import unique_topic
from tests.support.waiting import wait_until
from tests.support.wire import append, batch, create_topic, list_offset, metadata, produce, read_all

pytestmark = pytest.mark.ensemble

TIMEOUT_MS = 15_000
TOPIC, BROKER = 2, 4
EARLIEST = -2


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    home = tmp_path_factory.mktemp("log-dirs")
    return home / "a", home / "b"


@pytest.fixture(scope="module")
def broker(broker_factory: Callable[..., Broker], directories: tuple[Path, Path]) -> Broker:
    log_dirs = ",".join(map(str, directories))
    return broker_factory(properties={"log.dirs": log_dirs, "default.replication.factor": "1"})


@pytest.fixture
def client(broker: Broker) -> Iterator[SimpleClient]:
    with SimpleClient("127.0.0.1", broker.port) as connected:
        yield connected


def _partition_count(client: SimpleClient, topic: str) -> int:
    return len(metadata(client, topic).partitions)


# --- every API at every version


@pytest.mark.parametrize("version", ApiKey.CREATE_TOPICS.versions)
def test_topics_are_created_at_every_version(client: SimpleClient, version: int) -> None:
    name = unique_topic("created")
    topic = CreatableTopic(name=name, num_partitions=3, replication_factor=1)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)
    (made,) = client.send(request, version).topics
    assert (made.name, made.error_code) == (name, ErrorCode.NONE)
    assert _partition_count(client, name) == 3
    append(client, name, b"value", partition=2)
    assert [record.value for record in read_all(client, name, partition=2)] == [b"value"]


@pytest.mark.parametrize("version", ApiKey.DELETE_TOPICS.versions)
def test_topics_are_deleted_at_every_version(
    client: SimpleClient, directories: tuple[Path, Path], version: int
) -> None:
    name = create_topic(client, "doomed")
    request = DeleteTopicsRequest(topic_names=[name], timeout_ms=TIMEOUT_MS)
    if version >= 6:
        state = DeleteTopicState(name=name, topic_id=ZERO_UUID)
        request = DeleteTopicsRequest(topics=[state], timeout_ms=TIMEOUT_MS)
    (gone,) = client.send(request, version).responses
    assert (gone.name, gone.error_code) == (name, ErrorCode.NONE)
    wait_until(
        lambda: not any((home / f"{name}-0").exists() for home in directories),
        what="the log's directory is renamed",
    )


@pytest.mark.parametrize("version", ApiKey.CREATE_PARTITIONS.versions)
def test_partitions_are_added_at_every_version(client: SimpleClient, version: int) -> None:
    name = create_topic(client, "grows")
    topic = CreatePartitionsTopic(name=name, count=4, assignments=None)
    request = CreatePartitionsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)
    (grown,) = client.send(request, version).results
    assert (grown.name, grown.error_code) == (name, ErrorCode.NONE)
    assert _partition_count(client, name) == 4
    append(client, name, b"value", partition=3)


@pytest.mark.parametrize("version", ApiKey.ALTER_CONFIGS.versions)
def test_configs_are_replaced_at_every_version(client: SimpleClient, version: int) -> None:
    """M67: a topic's configuration goes through ZooKeeper, and its log obeys."""
    name = create_topic(client, "altered", configs={"retention.ms": "1"})
    config = alter_configs.AlterableConfig(name="max.message.bytes", value="100")
    resource = alter_configs.AlterConfigsResource(
        resource_type=TOPIC, resource_name=name, configs=[config]
    )
    request = alter_configs.AlterConfigsRequest(resources=[resource])
    (altered,) = client.send(request, version).responses
    assert altered.error_code == ErrorCode.NONE
    assert _overrides(client, name) == {"max.message.bytes": "100"}
    _wait_until_too_large(client, name)


@pytest.mark.parametrize("version", ApiKey.INCREMENTAL_ALTER_CONFIGS.versions)
def test_single_configs_change_at_every_version(client: SimpleClient, version: int) -> None:
    name = create_topic(client, "changed", configs={"retention.ms": "100000"})
    config = incremental_alter_configs.AlterableConfig(
        name="max.message.bytes", config_operation=0, value="100"
    )
    resource = incremental_alter_configs.AlterConfigsResource(
        resource_type=TOPIC, resource_name=name, configs=[config]
    )
    request = incremental_alter_configs.IncrementalAlterConfigsRequest(resources=[resource])
    (altered,) = client.send(request, version).responses
    assert altered.error_code == ErrorCode.NONE
    assert _overrides(client, name) == {"retention.ms": "100000", "max.message.bytes": "100"}
    _wait_until_too_large(client, name)


def _wait_until_too_large(client: SimpleClient, topic: str) -> None:
    """The log itself obeys, as soon as the broker has heard of the change."""

    def is_refused() -> bool:
        return bool(
            produce(client, topic, batch(b"v" * 200)).error_code == ErrorCode.MESSAGE_TOO_LARGE
        )

    wait_until(is_refused, what="the log has its new configuration")


@pytest.mark.parametrize("version", ApiKey.DESCRIBE_CONFIGS.versions)
def test_configs_are_described_at_every_version(
    client: SimpleClient, broker: Broker, version: int
) -> None:
    name = create_topic(client, "described", configs={"retention.ms": "5"})
    kinds = [(TOPIC, name), (BROKER, str(broker.broker_id)), (8, str(broker.broker_id))]
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(resource_type=k, resource_name=n, configuration_keys=None)
            for k, n in kinds
        ]
    )
    topic, own, loggers = client.send(request, version).results
    assert {c.name: c.value for c in topic.configs}["retention.ms"] == "5"
    assert {c.name: c.value for c in own.configs}["log.dirs"] == broker.properties["log.dirs"]
    assert {c.name: c.value for c in loggers.configs}["root"] == "INFO"


def _overrides(client: SimpleClient, topic: str) -> dict[str, str]:
    resource = DescribeConfigsResource(
        resource_type=TOPIC, resource_name=topic, configuration_keys=None
    )
    (result,) = client.send(DescribeConfigsRequest(resources=[resource])).results
    return {c.name: c.value for c in result.configs if c.config_source == 1}


@pytest.mark.parametrize("version", ApiKey.DELETE_RECORDS.versions)
def test_records_are_deleted_at_every_version(client: SimpleClient, version: int) -> None:
    name = create_topic(client, "emptied")
    for value in (b"a", b"b", b"c"):
        append(client, name, value)
    wish = DeleteRecordsPartition(partition_index=0, offset=2)
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=name, partitions=[wish])], timeout_ms=TIMEOUT_MS
    )
    (topic,) = client.send(request, version).topics
    (partition,) = topic.partitions
    assert (partition.low_watermark, partition.error_code) == (2, ErrorCode.NONE)
    assert list_offset(client, name, EARLIEST) == 2


@pytest.mark.parametrize("version", ApiKey.DESCRIBE_LOG_DIRS.versions)
def test_log_dirs_are_described_at_every_version(
    client: SimpleClient, directories: tuple[Path, Path], version: int
) -> None:
    name = create_topic(client, "measured", partitions=2)
    append(client, name, b"value")
    found = _log_dirs(client, name, version)
    assert set(found) == {0, 1}
    assert {path for path, _ in found.values()} <= set(map(str, directories))
    assert found[0][1] > found[1][1] == 0


def _log_dirs(client: SimpleClient, topic: str, version: int = 2) -> dict[int, tuple[str, int]]:
    wanted = [DescribableLogDirTopic(topic=topic, partition_index=[0, 1])]
    results = client.send(DescribeLogDirsRequest(topics=wanted), version).results
    return {
        partition.partition_index: (result.log_dir, partition.partition_size)
        for result in results
        for found in result.topics
        for partition in found.partitions
    }


@pytest.mark.parametrize("version", ApiKey.ALTER_REPLICA_LOG_DIRS.versions)
def test_replicas_move_between_log_dirs_at_every_version(
    client: SimpleClient, directories: tuple[Path, Path], version: int
) -> None:
    name = create_topic(client, "moved")
    values = [b"%d" % i * 100 for i in range(50)]
    for value in values:
        append(client, name, value)
    path, size = _log_dirs(client, name)[0]
    other = next(str(home) for home in directories if str(home) != path)
    topic = AlterReplicaLogDirTopic(name=name, partitions=[0])
    request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=other, topics=[topic])])
    (result,) = client.send(request, version).results
    assert result.partitions[0].error_code == ErrorCode.NONE
    wait_until(lambda: _log_dirs(client, name)[0] == (other, size), what=f"{name} is in {other}")
    assert [record.value for record in read_all(client, name)] == values
    assert append(client, name, b"after") == 50


@pytest.mark.parametrize("version", ApiKey.DESCRIBE_PRODUCERS.versions)
def test_producers_are_described_at_every_version(client: SimpleClient, version: int) -> None:
    name = create_topic(client, "produced")
    produce(client, name, batch(b"value", producer_id=7000, producer_epoch=1, base_sequence=0))
    request = DescribeProducersRequest(topics=[TopicRequest(name=name, partition_indexes=[0])])
    (topic,) = client.send(request, version).topics
    ((producer,),) = [partition.active_producers for partition in topic.partitions]
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (7000, 1, 0)


@pytest.mark.parametrize("version", ApiKey.DESCRIBE_CLUSTER.versions)
def test_cluster_is_described_at_every_version(
    client: SimpleClient, broker: Broker, version: int
) -> None:
    answer = client.send(DescribeClusterRequest(), version)
    assert answer.controller_id == broker.broker_id
    assert [(b.broker_id, b.port) for b in answer.brokers] == [(broker.broker_id, broker.port)]


# --- admin clients


@pytest.fixture
def kafka_python(broker: Broker) -> Iterator[Any]:
    admin = kafka.KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    yield admin
    admin.close()


def test_kafka_python_administers(kafka_python: Any, client: SimpleClient) -> None:
    name = unique_topic("kafka-python")
    kafka_python.create_topics([kafka.admin.NewTopic(name, 2, 1)])
    with pytest.raises(TopicAlreadyExistsError):
        kafka_python.create_topics([kafka.admin.NewTopic(name, 2, 1)])
    kafka_python.create_partitions({name: kafka.admin.NewPartitions(3)})
    assert _partition_count(client, name) == 3
    topic = kafka.admin.ConfigResource("TOPIC", name, {"retention.ms": "12345"})
    kafka_python.alter_configs([topic])
    assert _overrides(client, name) == {"retention.ms": "12345"}
    assert name in kafka_python.list_topics()
    kafka_python.delete_topics([name])
    assert name not in kafka_python.list_topics()


@pytest.fixture
def librdkafka(broker: Broker) -> Any:
    return confluent.AdminClient({"bootstrap.servers": broker.bootstrap_servers})


def test_librdkafka_administers(librdkafka: Any, client: SimpleClient) -> None:
    name = unique_topic("librdkafka")

    def wait(futures: dict[Any, Any]) -> list[Any]:
        return [future.result(TIMEOUT_MS / 1000) for future in futures.values()]

    wait(librdkafka.create_topics([confluent.NewTopic(name, 2, 1, config={"retention.ms": "5"})]))
    wait(librdkafka.create_partitions([confluent.NewPartitions(name, 4)]))
    assert _partition_count(client, name) == 4
    resource = confluent.ConfigResource(confluent.ResourceType.TOPIC, name)
    (described,) = wait(librdkafka.describe_configs([resource]))
    assert described["retention.ms"].value == "5"
    resource.add_incremental_config(
        confluent.ConfigEntry(
            "retention.ms", "6", incremental_operation=confluent.AlterConfigOpType.SET
        )
    )
    wait(librdkafka.incremental_alter_configs([resource]))
    assert _overrides(client, name) == {"retention.ms": "6"}
    assert len(librdkafka.describe_cluster().result(TIMEOUT_MS / 1000).nodes) == 1
    wait(librdkafka.delete_topics([name]))
    assert name not in librdkafka.list_topics(timeout=15).topics


def test_znodes_of_admin_work_are_kafkas(broker: Broker, client: SimpleClient) -> None:
    """M66: what tools that read ZooKeeper directly see is what Kafka would have written."""
    name = create_topic(client, "znodes", configs={"retention.ms": "5"})
    zk = KazooClient(broker.properties["zookeeper.connect"])
    zk.start()
    try:
        config = json.loads(zk.get(f"/config/topics/{name}")[0])
        topic = json.loads(zk.get(f"/brokers/topics/{name}")[0])
    finally:
        zk.stop()
        zk.close()
    assert config == {"version": 1, "config": {"retention.ms": "5"}}
    assert list(topic) == [
        "partitions",
        "topic_id",
        "adding_replicas",
        "removing_replicas",
        "version",
    ]
    assert topic["partitions"] == {"0": [broker.broker_id]}


# --- what lasts


def test_dynamic_configs_survive_a_restart(
    broker_factory: Callable[..., Broker], tmp_path: Path
) -> None:
    """M67: a broker's own configuration in ZooKeeper holds from the start on."""
    log_dirs = f"{tmp_path / 'a'},{tmp_path / 'b'}"
    broker = broker_factory(broker_id=9, properties={"log.dirs": log_dirs})
    with SimpleClient("127.0.0.1", broker.port) as client:
        change = incremental_alter_configs.AlterableConfig(
            name="log.cleaner.backoff.ms", config_operation=0, value="14000"
        )
        resource = incremental_alter_configs.AlterConfigsResource(
            resource_type=BROKER, resource_name="9", configs=[change]
        )
        request = incremental_alter_configs.IncrementalAlterConfigsRequest(resources=[resource])
        (altered,) = client.send(request).responses
        assert altered.error_code == ErrorCode.NONE
    broker.restart()
    with SimpleClient("127.0.0.1", broker.port) as client:
        resource = DescribeConfigsResource(
            resource_type=BROKER,
            resource_name="9",
            configuration_keys=["log.cleaner.backoff.ms"],
        )
        (result,) = client.send(DescribeConfigsRequest(resources=[resource])).results
        assert [(c.value, c.config_source) for c in result.configs] == [("14000", 2)]
    broker.terminate()
