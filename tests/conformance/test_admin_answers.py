"""Admin requests that go right and wrong: Apache Kafka and we give the same codes and words."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.model.uuid import ZERO_UUID
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages import alter_configs as whole
from kafkalike.protocol.messages import incremental_alter_configs as single
from kafkalike.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafkalike.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateableTopicConfig,
    CreateTopicsRequest,
)
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
from kafkalike.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from tests.support.target import Target, unique_topic
from tests.support.waiting import wait_until

TOPIC, BROKER, LOGGER = 2, 4, 8
SET, DELETE, APPEND, SUBTRACT = range(4)
TIMEOUT_MS = 15_000
Answer = tuple[ErrorCode, str | None]


@pytest.fixture(scope="module")
def client(target: Target) -> Iterator[SimpleClient]:
    with target.connect() as connected:
        yield connected


@pytest.fixture(scope="module")
def broker_id(client: SimpleClient) -> str:
    (broker,) = client.send(DescribeClusterRequest()).brokers
    return str(broker.broker_id)


def _creatable(
    name: str,
    partitions: int = 1,
    factor: int = 1,
    *,
    by_hand: Mapping[int, list[int]] | None = None,
    configs: Mapping[str, str | None] | None = None,
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=p, broker_ids=ids)
            for p, ids in (by_hand or {}).items()
        ],
        configs=[CreateableTopicConfig(name=k, value=v) for k, v in (configs or {}).items()],
    )


def _create(client: SimpleClient, *topics: CreatableTopic, **options: Any) -> list[Answer]:
    request = CreateTopicsRequest(topics=list(topics), **{"timeout_ms": TIMEOUT_MS, **options})
    return [(ErrorCode(t.error_code), t.error_message) for t in client.send(request).topics]


def _topic(client: SimpleClient, prefix: str, partitions: int = 1, **options: Any) -> str:
    name = unique_topic(prefix)
    assert _create(client, _creatable(name, partitions, **options)) == [(ErrorCode.NONE, None)]
    return name


# --- CreateTopics


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ({"factor": 9}, 38, "Replication factor: 9 larger than available brokers: 1."),
        ({"factor": 0}, 38, "Replication factor must be larger than 0."),
        ({"partitions": 0}, 37, "Number of partitions must be larger than 0."),
        ({"partitions": -2}, 37, "Number of partitions must be larger than 0."),
        ({"configs": {"foo": "1"}}, 40, "Unknown topic config name: foo"),
        (
            {"configs": {"segment.bytes": "abc"}},
            40,
            "Invalid value abc for configuration segment.bytes: Not a number of type INT",
        ),
        (
            {"configs": {"segment.bytes": "1"}},
            40,
            "Invalid value 1 for configuration segment.bytes: Value must be at least 14",
        ),
        (
            {"configs": {"cleanup.policy": "x"}},
            40,
            (
                "Invalid value x for configuration cleanup.policy: String must be one of: compact, "
                "delete"
            ),
        ),
        (
            {"configs": {"segment.bytes": None}},
            42,
            "Null value not supported for topic configs : segment.bytes",
        ),
        (
            {"configs": {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"}},
            40,
            "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)",
        ),
        (
            {"by_hand": {0: [1]}},
            42,
            (
                "Both numPartitions or replicationFactor and replicasAssignments were set. Both "
                "cannot be used at the same time."
            ),
        ),
        (
            {"partitions": -1, "factor": -1, "by_hand": {0: [1], 2: [1]}},
            39,
            "partitions should be a consecutive 0-based integer sequence",
        ),
        (
            {"partitions": -1, "factor": -1, "by_hand": {0: [1, 1]}},
            39,
            "Duplicate replica assignment found: HashMap(0 -> ArrayBuffer(1, 1))",
        ),
        (
            {"partitions": -1, "factor": -1, "by_hand": {0: [1], 1: [1, 2]}},
            39,
            "All partitions should have the same number of replicas",
        ),
    ],
)
def test_topic_is_refused_in_the_same_words(
    client: SimpleClient, options: dict[str, Any], code: int, message: str
) -> None:
    refused = _create(client, _creatable(unique_topic("refused"), **options))
    assert refused == [(ErrorCode(code), message)]


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "ä", "n" * 250])
def test_name_is_refused_in_the_same_words(client: SimpleClient, name: str) -> None:
    ((code, message),) = _create(client, _creatable(name))
    assert code is ErrorCode.INVALID_TOPIC_EXCEPTION
    words = {
        "": "Topic name is illegal, it can't be empty",
        ".": 'Topic name cannot be "." or ".."',
        "..": 'Topic name cannot be "." or ".."',
        "n" * 250: (
            f"Topic name is illegal, it can't be longer than 249 characters, topic name: {name}"
        ),
    }
    illegal = (
        f'Topic name "{name}" is illegal, it contains a character other than ASCII alphanumerics, '
        "'.', '_' and '-'"
    )
    assert message == words.get(name, illegal)


def test_topic_that_exists_or_collides_is_refused(client: SimpleClient) -> None:
    name = _topic(client, "a.dot")
    other = name.replace(".", "_")
    assert _create(client, _creatable(name), _creatable(other)) == [
        (ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists."),
        (
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic '{other}' collides with existing topics: {name}",
        ),
    ]


def test_topic_named_twice_is_refused(client: SimpleClient) -> None:
    name = unique_topic("twice")
    refused = (ErrorCode.INVALID_REQUEST, "Found multiple entries for this topic.")
    assert _create(client, _creatable(name), _creatable(name)) == [refused, refused]


def test_validation_alone_leaves_nothing_behind(client: SimpleClient) -> None:
    topic = _creatable(unique_topic("validated"))
    for _ in range(2):
        assert _create(client, topic, validate_only=True) == [(ErrorCode.NONE, None)]


def test_without_a_timeout_the_topic_is_only_begun(client: SimpleClient) -> None:
    topic = _creatable(unique_topic("begun"))
    assert _create(client, topic, timeout_ms=0) == [(ErrorCode.REQUEST_TIMED_OUT, None)]
    assert _create(client, topic)[0][0] is ErrorCode.TOPIC_ALREADY_EXISTS


# --- DeleteTopics


def _delete(client: SimpleClient, *topics: tuple[str | None, bytes]) -> list[tuple[Any, ...]]:
    states = [DeleteTopicState(name=name, topic_id=topic_id) for name, topic_id in topics]
    answer = client.send(DeleteTopicsRequest(topics=states, timeout_ms=TIMEOUT_MS))
    return [(t.name, ErrorCode(t.error_code), t.error_message) for t in answer.responses]


def test_topics_are_deleted_by_name_and_id(client: SimpleClient) -> None:
    by_name = _topic(client, "by-name")
    by_id = unique_topic("by-id")
    request = CreateTopicsRequest(topics=[_creatable(by_id)], timeout_ms=TIMEOUT_MS)
    (made,) = client.send(request).topics
    assert _delete(client, (by_name, ZERO_UUID), (None, made.topic_id)) == [
        (by_name, ErrorCode.NONE, None),
        (by_id, ErrorCode.NONE, None),
    ]
    assert _delete(client, (by_name, ZERO_UUID)) == [
        (by_name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)
    ]
    # The controller forgets the id a little later than the brokers forget the name.
    unknown = [(None, ErrorCode.UNKNOWN_TOPIC_ID, None)]
    wait_until(lambda: _delete(client, (None, made.topic_id)) == unknown, what="unknown id")


def test_name_and_id_together_and_neither_are_refused(client: SimpleClient) -> None:
    name = _topic(client, "both")
    assert _delete(client, (name, b"x" * 16)) == [(name, ErrorCode.INVALID_REQUEST, None)]
    assert _delete(client, (None, ZERO_UUID)) == [
        (None, ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)
    ]


# --- CreatePartitions


def _grow(
    client: SimpleClient, *topics: tuple[str, int, list[list[int]] | None]
) -> list[tuple[Any, ...]]:
    request = CreatePartitionsRequest(
        topics=[
            CreatePartitionsTopic(
                name=name,
                count=count,
                assignments=(
                    None
                    if by_hand is None
                    else [CreatePartitionsAssignment(broker_ids=ids) for ids in by_hand]
                ),
            )
            for name, count, by_hand in topics
        ],
        timeout_ms=TIMEOUT_MS,
    )
    return [(ErrorCode(t.error_code), t.error_message) for t in client.send(request).results]


def test_topic_grows(client: SimpleClient, broker_id: str) -> None:
    name = _topic(client, "grows")
    assert _grow(client, (name, 3, None)) == [(ErrorCode.NONE, None)]
    assert _grow(client, (name, 4, [[int(broker_id)]])) == [(ErrorCode.NONE, None)]


@pytest.mark.parametrize(
    ("count", "by_hand", "code", "message"),
    [
        (3, None, 37, "Topic already has 3 partitions."),
        (1, None, 37, "Topic currently has 3 partitions, which is higher than the requested 1."),
        (4, [[99]], 39, "Unknown broker(s) in replica assignment: 99."),
        (4, [], 39, "Increasing the number of partitions by 1 but 0 assignments provided."),
        (4, [[]], 39, "Cannot have replication factor of 0 for partition id 3."),
    ],
)
def test_growth_is_refused_in_the_same_words(
    client: SimpleClient, count: int, by_hand: list[list[int]] | None, code: int, message: str
) -> None:
    name = _topic(client, "stays", 3)
    assert _grow(client, (name, count, by_hand)) == [(ErrorCode(code), message)]


def test_growth_of_a_topic_that_is_not_there_or_is_named_twice_is_refused(
    client: SimpleClient,
) -> None:
    name = unique_topic("nowhere")
    assert _grow(client, (name, 2, None)) == [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    ]
    assert _grow(client, (name, 2, None), (name, 3, None)) == [
        (ErrorCode.INVALID_REQUEST, "Duplicate topic in request.")
    ]


# --- configs


def _alter(client: SimpleClient, kind: int, name: str, **config: str) -> Answer:
    request = whole.AlterConfigsRequest(
        resources=[
            whole.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    whole.AlterableConfig(name=key.replace("_", "."), value=value)
                    for key, value in config.items()
                ],
            )
        ]
    )
    (answer,) = client.send(request).responses
    return ErrorCode(answer.error_code), answer.error_message


def _change(
    client: SimpleClient, kind: int, name: str, *changes: tuple[str, int, str | None]
) -> Answer:
    request = single.IncrementalAlterConfigsRequest(
        resources=[
            single.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    single.AlterableConfig(name=key, config_operation=operation, value=value)
                    for key, operation, value in changes
                ],
            )
        ]
    )
    (answer,) = client.send(request).responses
    return ErrorCode(answer.error_code), answer.error_message


def _describe(client: SimpleClient, kind: int, name: str, *keys: str) -> Any:
    resource = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=list(keys) or None
    )
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
    (result,) = client.send(request).results
    return result


def _overrides(client: SimpleClient, topic: str) -> dict[str, str]:
    configs = _describe(client, TOPIC, topic).configs
    return {config.name: config.value for config in configs if config.config_source == 1}


def test_configs_of_a_topic_are_replaced_and_changed(client: SimpleClient) -> None:
    name = _topic(client, "tuned")
    done = (ErrorCode.NONE, None)
    assert _alter(client, TOPIC, name, retention_ms="5000", segment_ms="6000") == done
    assert _alter(client, TOPIC, name, retention_ms="7000") == done
    assert _overrides(client, name) == {"retention.ms": "7000"}
    append = ("cleanup.policy", APPEND, "compact")
    assert _change(client, TOPIC, name, append, ("retention.ms", DELETE, None)) == done
    assert _overrides(client, name) == {"cleanup.policy": "delete,compact"}
    assert _change(client, TOPIC, name, ("cleanup.policy", SUBTRACT, "delete")) == done
    assert _overrides(client, name) == {"cleanup.policy": "compact"}


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ([("foo", SET, "1")], 40, "Unknown topic config name: foo"),
        (
            [("retention.ms", APPEND, "1")],
            42,
            "Config value append is not allowed for config key: retention.ms",
        ),
        (
            [("retention.ms", SUBTRACT, "1")],
            42,
            "Config value subtract is not allowed for config key: retention.ms",
        ),
        (
            [("retention.ms", SET, "1"), ("retention.ms", DELETE, None)],
            42,
            "Error due to duplicate config keys : retention.ms",
        ),
        (
            [("retention.ms", SET, None), ("segment.ms", APPEND, None)],
            42,
            "Null value not supported for : SET:retention.ms,APPEND:segment.ms",
        ),
        ([("foo", APPEND, "1")], -1, None),
        ([("retention.ms", 9, "1")], -1, None),
    ],
)
def test_change_of_a_topic_is_refused_in_the_same_words(
    client: SimpleClient,
    changes: list[tuple[str, int, str | None]],
    code: int,
    message: str | None,
) -> None:
    name = _topic(client, "unchanged")
    assert _change(client, TOPIC, name, *changes) == (ErrorCode(code), message)
    assert _overrides(client, name) == {}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"log_dirs": "/x"}, "Cannot update these configs dynamically: Set(log.dirs)"),
        (
            {"ssl_keystore_location": "/x"},
            (
                "These security configs can be dynamically updated only per-listener using the "
                "listener prefix: HashSet(ssl.keystore.location)"
            ),
        ),
        (
            {"num_io_threads": "100"},
            (
                "Invalid value org.apache.kafka.common.config.ConfigException: Dynamic thread "
                "count update validation failed for num.io.threads=100, value should not be "
                "greater than double the current value 8 for configuration Invalid dynamic "
                "configuration"
            ),
        ),
        (
            {"log_roll_ms": "0"},
            "requirement failed: log.roll.ms must be greater than or equal to 1",
        ),
        (
            {"compression_type": "foo"},
            (
                "requirement failed: compression.type : foo is not valid. Valid options are "
                "uncompressed,zstd,lz4,snappy,gzip,producer"
            ),
        ),
        (
            {"max_connections": "-1"},
            "Invalid value -1 for configuration max.connections: Value must be at least 0",
        ),
    ],
)
def test_change_of_a_broker_is_refused_in_the_same_words(
    client: SimpleClient, broker_id: str, changes: dict[str, str], reason: str
) -> None:
    resource = f"ConfigResource(type=BROKER, name='{broker_id}')"
    assert _alter(client, BROKER, broker_id, **changes) == (
        ErrorCode.INVALID_REQUEST,
        f"Invalid config value for resource {resource}: {reason}",
    )


@pytest.mark.parametrize(
    ("kind", "name", "code", "message"),
    [
        (TOPIC, "nowhere", 3, "The topic 'nowhere' does not exist."),
        (BROKER, "x", 42, "Broker id must be an integer, but it is: x"),
        (
            LOGGER,
            "1",
            42,
            "AlterConfigs is deprecated and does not support the resource type BROKER_LOGGER",
        ),
        (3, "1", 42, "Unexpected resource type UNKNOWN"),
    ],
)
def test_resource_that_cannot_be_altered_says_why(
    client: SimpleClient, kind: int, name: str, code: int, message: str
) -> None:
    assert _alter(client, kind, name, retention_ms="5") == (ErrorCode(code), message)


@pytest.mark.parametrize(
    ("kind", "name", "code", "message"),
    [
        (TOPIC, "nowhere", 3, ""),
        (TOPIC, "", 17, "Topic name is illegal, it can't be empty"),
        (BROKER, "x", 42, "Broker id must be an integer, but it is: x"),
        (LOGGER, "", 42, "Broker id must not be empty"),
    ],
)
def test_resource_that_cannot_be_described_says_why(
    client: SimpleClient, kind: int, name: str, code: int, message: str
) -> None:
    result = _describe(client, kind, name)
    assert (result.error_code, result.error_message, result.configs) == (code, message, [])


def test_dynamic_config_of_the_broker_is_described_with_its_sources(
    client: SimpleClient, broker_id: str
) -> None:
    key = "log.cleaner.backoff.ms"
    try:
        for name, value in ((broker_id, "14000"), ("", "13000")):
            assert _change(client, BROKER, name, (key, SET, value)) == (ErrorCode.NONE, None)
        _wait_for_source(client, broker_id, key)
        (config,) = _describe(client, BROKER, broker_id, key).configs
        assert (config.value, config.config_source, config.read_only) == ("14000", 2, False)
        assert [(s.name, s.value, s.source) for s in config.synonyms] == [
            (key, "14000", 2),
            (key, "13000", 3),
            (key, "15000", 5),
        ]
        (default,) = _describe(client, BROKER, "", key).configs
        assert (default.value, default.config_source) == ("13000", 3)
    finally:
        for name in (broker_id, ""):
            _change(client, BROKER, name, (key, DELETE, None))


def _wait_for_source(client: SimpleClient, broker_id: str, key: str) -> None:
    def is_known() -> bool:
        (config,) = _describe(client, BROKER, broker_id, key).configs
        return len(config.synonyms) == 3

    wait_until(is_known, what=f"both values of {key}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("no.such.Logger", SET, "INFO"), "Logger no.such.Logger does not exist!"),
        (
            ("root", SET, "LOUD"),
            (
                "Cannot set the log level of root to LOUD as it is not a supported log level. "
                "Valid log levels are TRACE, ERROR, INFO, FATAL, DEBUG, WARN"
            ),
        ),
    ],
)
def test_log_level_is_refused_in_the_same_words(
    client: SimpleClient, broker_id: str, change: tuple[str, int, str], message: str
) -> None:
    resource = f"ConfigResource(type=BROKER_LOGGER, name='{broker_id}')"
    assert _change(client, LOGGER, broker_id, change) == (
        ErrorCode.INVALID_REQUEST,
        f"Invalid config value for resource {resource}: {message}",
    )


def test_root_logger_keeps_a_level(client: SimpleClient, broker_id: str) -> None:
    assert _change(client, LOGGER, broker_id, ("root", DELETE, None)) == (
        ErrorCode.INVALID_REQUEST,
        "Removing the log level of the root logger is not allowed",
    )


# --- partitions


def test_records_are_deleted_or_refused_partition_by_partition(client: SimpleClient) -> None:
    compacted = _topic(client, "compacted", configs={"cleanup.policy": "compact"})
    name = _topic(client, "emptied")

    def deleted(topic: str, partition: int, offset: int) -> tuple[int, ErrorCode]:
        wish = DeleteRecordsPartition(partition_index=partition, offset=offset)
        request = DeleteRecordsRequest(
            topics=[DeleteRecordsTopic(name=topic, partitions=[wish])], timeout_ms=TIMEOUT_MS
        )
        ((result,),) = [t.partitions for t in client.send(request).topics]
        return result.low_watermark, ErrorCode(result.error_code)

    assert deleted(name, 0, 0) == (0, ErrorCode.NONE)
    assert deleted(name, 0, -1) == (0, ErrorCode.NONE)
    assert deleted(name, 0, 5) == (-1, ErrorCode.OFFSET_OUT_OF_RANGE)
    assert deleted(name, 7, 0) == (-1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert deleted(compacted, 0, 0) == (-1, ErrorCode.POLICY_VIOLATION)


def test_producers_are_described_or_refused(client: SimpleClient) -> None:
    name = _topic(client, "quiet")
    request = DescribeProducersRequest(topics=[TopicRequest(name=name, partition_indexes=[0, 7])])
    (topic,) = client.send(request).topics
    assert [(p.error_code, p.active_producers) for p in topic.partitions] == [
        (ErrorCode.NONE, []),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, []),
    ]


def test_cluster_tells_its_operations_if_asked(client: SimpleClient) -> None:
    answer = client.send(DescribeClusterRequest(include_cluster_authorized_operations=True))
    assert answer.cluster_authorized_operations == 8096
    assert len(answer.cluster_id) == 22
