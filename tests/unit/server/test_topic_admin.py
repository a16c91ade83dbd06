"""Topics are created, deleted and given more partitions."""

import json
from typing import Any

import pytest

from kafkalike.config.errors import ConfigError
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode, PolicyViolationError
from kafkalike.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsTopic,
)
from kafkalike.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateableTopicConfig,
)
from kafkalike.server.api_error import ApiError
from kafkalike.server.config_resource import ConfigSource
from kafkalike.server.policies import CreateTopicMetadata
from kafkalike.server.topic_admin import CreatedTopic
from tests.support.admin_broker import AdminBroker
from tests.support.run import result_of, run, start


def a_topic(
    name: str = "t",
    partitions: int = 1,
    factor: int = 1,
    *,
    assignments: dict[int, list[int]] | None = None,
    configs: dict[str, str | None] | None = None,
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=-1 if assignments else partitions,
        replication_factor=-1 if assignments else factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=p, broker_ids=ids)
            for p, ids in (assignments or {}).items()
        ],
        configs=[
            CreateableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()
        ],
    )


def create(
    broker: AdminBroker, topic: CreatableTopic, *, validate_only: bool = False
) -> CreatedTopic:
    creating = start(broker.topic_admin.create_topics([topic], 5000, validate_only=validate_only))
    if not creating.called:
        broker.react()
    return result_of(creating)[topic.name]


def assignment_of(broker: AdminBroker, topic: str) -> dict[int, tuple[int, ...]]:
    found = run(broker.zk.get_replica_assignment_for_topics([topic]))
    return {tp.partition: replicas for tp, replicas in found.items()}


# --- create


def test_topic_is_written_to_zookeeper_configs_first() -> None:
    broker = AdminBroker()
    created = create(broker, a_topic("t", 2, configs={"retention.ms": "5"}))
    assert created.error.is_success
    paths = [write["path"] for write in broker.zookeeper.writes if "path" in write]
    assert paths.index("/config/topics/t") < paths.index("/brokers/topics/t")
    config = json.loads(broker.zookeeper.data("/config/topics/t") or b"")
    assert config == {"version": 1, "config": {"retention.ms": "5"}}
    assert assignment_of(broker, "t") == {0: (1,), 1: (1,)}


def test_answer_tells_what_the_topic_became() -> None:
    broker = AdminBroker(brokers=3)
    created = create(broker, a_topic("t", 4, 2, configs={"retention.ms": "5"}))
    assert (created.num_partitions, created.replication_factor) == (4, 2)
    assert created.topic_id == run(broker.zk.get_topic_ids_for_topics(["t"]))["t"]
    retention = next(entry for entry in created.configs if entry.name == "retention.ms")
    assert (retention.value, retention.source) == ("5", ConfigSource.TOPIC_CONFIG)
    assert len(created.configs) == 26


def test_answer_waits_for_leaders() -> None:
    broker = AdminBroker()
    creating = start(broker.topic_admin.create_topics([a_topic()], 5000, validate_only=False))
    broker.topic_admin.metadata_changed(["t"])
    assert not creating.called
    broker.react()
    assert result_of(creating)["t"].error.is_success


def test_topic_whose_leaders_do_not_come_in_time_timed_out_but_has_its_id() -> None:
    broker = AdminBroker()
    creating = start(broker.topic_admin.create_topics([a_topic()], 5000, validate_only=False))
    broker.clock.advance(5.1)
    created = result_of(creating)["t"]
    assert created.error.code is ErrorCode.REQUEST_TIMED_OUT
    assert (created.num_partitions, created.configs) == (-1, ())
    assert any(created.topic_id)


def test_without_a_timeout_nobody_waits() -> None:
    broker = AdminBroker()
    created = run(broker.topic_admin.create_topics([a_topic()], 0, validate_only=False))
    assert created["t"].error.code is ErrorCode.REQUEST_TIMED_OUT
    assert run(broker.zk.topic_exists("t"))


def test_shutdown_answers_who_waits() -> None:
    broker = AdminBroker()
    creating = start(broker.topic_admin.create_topics([a_topic()], 5000, validate_only=False))
    broker.topic_admin.shutdown()
    assert result_of(creating)["t"].error.code is ErrorCode.REQUEST_TIMED_OUT


def test_minus_one_means_the_brokers_defaults() -> None:
    broker = AdminBroker({"num.partitions": "5", "default.replication.factor": "2"}, brokers=2)
    created = create(broker, a_topic("t", -1, -1))
    assert (created.num_partitions, created.replication_factor) == (5, 2)


@pytest.mark.parametrize("count", [1, 2, 10_000])
def test_any_number_of_partitions_can_be_chosen(count: int) -> None:
    """M13: the number of partitions is chosen at creation, any number from 1 on."""
    broker = AdminBroker(brokers=3)
    created = create(broker, a_topic(partitions=count))
    assert (created.error.is_success, created.num_partitions) == (True, count)
    assert sorted(assignment_of(broker, "t")) == list(range(count))


@pytest.mark.parametrize("factor", [1, 2, 3])
def test_topic_has_as_many_replicas_as_its_factor_says(factor: int) -> None:
    """M33: RF 1, 2 and 3; more than there are brokers is refused."""
    broker = AdminBroker(brokers=3)
    create(broker, a_topic(partitions=5, factor=factor))
    assert {len(set(replicas)) for replicas in assignment_of(broker, "t").values()} == {factor}
    refused = create(broker, a_topic("u", factor=4))
    assert refused.error.code is ErrorCode.INVALID_REPLICATION_FACTOR


def test_replicas_go_where_the_request_says() -> None:
    """M16: topic A on 101, 103, 102; topic B on 102, 101 and nothing of it on 103."""
    broker = AdminBroker(broker_ids=(101, 102, 103))
    create(broker, a_topic("A", assignments={0: [101], 1: [103], 2: [102]}))
    create(broker, a_topic("B", assignments={0: [102], 1: [101]}))
    assert assignment_of(broker, "A") == {0: (101,), 1: (103,), 2: (102,)}
    assert assignment_of(broker, "B") == {0: (102,), 1: (101,)}
    create(broker, a_topic("C", assignments={0: [103, 101], 1: [101, 102]}))
    assert assignment_of(broker, "C") == {0: (103, 101), 1: (101, 102)}


def test_validation_alone_writes_nothing() -> None:
    broker = AdminBroker()
    before = list(broker.zookeeper.writes)
    created = create(broker, a_topic(), validate_only=True)
    assert created.error.is_success
    assert created.num_partitions == 1
    assert not any(created.topic_id)
    assert broker.zookeeper.writes == before


def test_topic_of_an_older_protocol_has_no_id() -> None:
    broker = AdminBroker({"inter.broker.protocol.version": "2.7"})
    create(broker, a_topic())
    assert run(broker.zk.get_topic_ids_for_topics(["t"])) == {}


CREATE_ERRORS: list[tuple[CreatableTopic, ErrorCode, str]] = [
    (a_topic("there"), ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 'there' already exists."),
    (
        a_topic("with_dot"),
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        "Topic 'with_dot' collides with existing topics: with.dot",
    ),
    (
        a_topic(".."),
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        'Topic name cannot be "." or ".."',
    ),
    (a_topic(""), ErrorCode.INVALID_TOPIC_EXCEPTION, "Topic name is illegal, it can't be empty"),
    (
        a_topic(factor=3),
        ErrorCode.INVALID_REPLICATION_FACTOR,
        "Replication factor: 3 larger than available brokers: 2.",
    ),
    (
        a_topic(factor=0),
        ErrorCode.INVALID_REPLICATION_FACTOR,
        "Replication factor must be larger than 0.",
    ),
    (
        a_topic(partitions=0),
        ErrorCode.INVALID_PARTITIONS,
        "Number of partitions must be larger than 0.",
    ),
    (
        a_topic(configs={"foo": "1"}),
        ErrorCode.INVALID_CONFIG,
        "Unknown topic config name: foo",
    ),
    (
        a_topic(configs={"segment.bytes": "abc"}),
        ErrorCode.INVALID_CONFIG,
        "Invalid value abc for configuration segment.bytes: Not a number of type INT",
    ),
    (
        a_topic(configs={"segment.bytes": None, "retention.ms": None}),
        ErrorCode.INVALID_REQUEST,
        "Null value not supported for topic configs : segment.bytes,retention.ms",
    ),
    (
        a_topic(assignments={0: [1], 2: [1]}),
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "partitions should be a consecutive 0-based integer sequence",
    ),
]


@pytest.mark.parametrize(
    ("topic", "code", "message"), CREATE_ERRORS, ids=[error[2][:40] for error in CREATE_ERRORS]
)
def test_topic_is_refused_in_kafkas_words(
    topic: CreatableTopic, code: ErrorCode, message: str
) -> None:
    broker = AdminBroker(brokers=2)
    broker.create_topic("there", {0: (1,)})
    broker.create_topic("with.dot", {0: (1,)})
    assert create(broker, topic) == CreatedTopic(ApiError(code, message))


def test_numbers_and_assignments_together_are_refused() -> None:
    topic = a_topic(assignments={0: [1]})
    topic.num_partitions = 1
    created = create(AdminBroker(), topic)
    assert created.error.code is ErrorCode.INVALID_REQUEST
    assert (created.error.message or "").startswith("Both numPartitions or replicationFactor")


def test_topic_that_only_zookeeper_knows_exists_too() -> None:
    broker = AdminBroker()
    run(broker.zk.create_topic_assignment("t", None, {TopicPartition("t", 0): (1,)}))
    assert create(broker, a_topic()).error.code is ErrorCode.TOPIC_ALREADY_EXISTS


def test_one_bad_topic_does_not_keep_the_others_back() -> None:
    broker = AdminBroker()
    creating = start(
        broker.topic_admin.create_topics(
            [a_topic("bad", factor=9), a_topic("good")], 5000, validate_only=False
        )
    )
    broker.react()
    created = result_of(creating)
    assert created["bad"].error.code is ErrorCode.INVALID_REPLICATION_FACTOR
    assert created["good"].error.is_success


class OnlySmallTopics:
    """A policy as a site would write it."""

    asked: list[CreateTopicMetadata] = []  # noqa: RUF012 (the broker makes the object)

    def validate(self, request: CreateTopicMetadata) -> None:
        self.asked.append(request)
        if request.num_partitions is not None and request.num_partitions > 2:
            raise PolicyViolationError(f"{request.topic}: at most 2 partitions")


def _with_policy() -> AdminBroker:
    OnlySmallTopics.asked.clear()
    return AdminBroker({"create.topic.policy.class.name": f"{__name__}.OnlySmallTopics"})


def test_policy_is_asked_and_obeyed() -> None:
    broker = _with_policy()
    created = create(broker, a_topic(partitions=3))
    assert created.error == (ErrorCode.POLICY_VIOLATION, "t: at most 2 partitions")
    assert not run(broker.zk.topic_exists("t"))


def test_policy_sees_numbers_or_assignments() -> None:
    broker = _with_policy()
    create(broker, a_topic("a", 2, configs={"retention.ms": "5"}))
    create(broker, a_topic("b", assignments={0: [1]}))
    by_number, by_hand = OnlySmallTopics.asked
    assert by_number == CreateTopicMetadata("a", 2, 1, None, {"retention.ms": "5"})
    assert by_hand == CreateTopicMetadata("b", None, None, {0: (1,)}, {})


def test_policy_that_cannot_be_found_keeps_the_broker_from_starting() -> None:
    with pytest.raises(ConfigError, match=r"no\.such\.Policy could not be found"):
        AdminBroker({"create.topic.policy.class.name": "no.such.Policy"})


def test_policy_without_validate_is_refused() -> None:
    with pytest.raises(ConfigError, match="has no method validate"):
        AdminBroker({"create.topic.policy.class.name": "collections.Counter"})


# --- delete


def delete(broker: AdminBroker, *topics: str) -> dict[str, ErrorCode]:
    deleting = start(broker.topic_admin.delete_topics(topics, 5000))
    if not deleting.called:
        broker.react()
    return {topic: error.code for topic, error in result_of(deleting).items()}


def test_topic_is_marked_and_the_answer_waits_until_it_is_gone() -> None:
    broker = AdminBroker()
    broker.create_topic("t", {0: (1,)})
    deleting = start(broker.topic_admin.delete_topics(["t"], 5000))
    assert run(broker.zk.get_topic_deletions()) == ["t"]
    assert not deleting.called
    broker.react()
    assert result_of(deleting)["t"].is_success


def test_deletion_twice_is_waited_for_twice() -> None:
    broker = AdminBroker()
    broker.create_topic("t", {0: (1,)})
    first, second = (start(broker.topic_admin.delete_topics(["t"], 5000)) for _ in range(2))
    broker.react()
    assert result_of(first)["t"].is_success
    assert result_of(second)["t"].is_success


def test_topic_that_stays_times_out() -> None:
    broker = AdminBroker()
    broker.create_topic("t", {0: (1,)})
    deleting = start(broker.topic_admin.delete_topics(["t"], 5000))
    broker.clock.advance(5.1)
    assert result_of(deleting)["t"].code is ErrorCode.REQUEST_TIMED_OUT


def test_topic_that_is_not_there_cannot_be_deleted() -> None:
    assert delete(AdminBroker(), "nope") == {"nope": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


# --- more partitions


def grow(
    broker: AdminBroker,
    count: int,
    assignments: list[list[int]] | None = None,
    *,
    validate_only: bool = False,
) -> Any:
    topic = CreatePartitionsTopic(
        name="t",
        count=count,
        assignments=(
            None
            if assignments is None
            else [CreatePartitionsAssignment(broker_ids=ids) for ids in assignments]
        ),
    )
    growing = start(
        broker.topic_admin.create_partitions([topic], 5000, validate_only=validate_only)
    )
    if not growing.called:
        broker.react()
    return result_of(growing)["t"]


def test_partitions_are_added_behind_the_existing_ones() -> None:
    broker = AdminBroker(brokers=3)
    broker.create_topic("t", {0: (2, 3)})
    topic_id = run(broker.zk.get_topic_ids_for_topics(["t"]))
    assert grow(broker, 4).is_success
    assignment = assignment_of(broker, "t")
    assert assignment[0] == (2, 3)
    assert [replicas[0] for replicas in assignment.values()] == [2, 3, 1, 2]
    assert {len(replicas) for replicas in assignment.values()} == {2}
    assert run(broker.zk.get_topic_ids_for_topics(["t"])) == topic_id


def test_added_partitions_go_where_the_request_says() -> None:
    broker = AdminBroker(brokers=3)
    broker.create_topic("t", {0: (1, 2)})
    assert grow(broker, 2, [[3, 1]]).is_success
    assert assignment_of(broker, "t") == {0: (1, 2), 1: (3, 1)}


def test_growth_can_be_validated_alone() -> None:
    broker = AdminBroker()
    broker.create_topic("t", {0: (1,)})
    assert grow(broker, 2, validate_only=True).is_success
    assert assignment_of(broker, "t") == {0: (1,)}


def test_growth_that_cannot_be_is_refused() -> None:
    broker = AdminBroker()
    broker.create_topic("t", {0: (1,)})
    assert grow(broker, 1) == (ErrorCode.INVALID_PARTITIONS, "Topic already has 1 partitions.")
    assert grow(broker, 2, [[7]]).code is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_growth_without_leaders_times_out() -> None:
    broker = AdminBroker()
    broker.create_topic("t", {0: (1,)})
    growing = start(
        broker.topic_admin.create_partitions(
            [CreatePartitionsTopic(name="t", count=2, assignments=None)], 5000, validate_only=False
        )
    )
    broker.clock.advance(5.1)
    assert result_of(growing)["t"].code is ErrorCode.REQUEST_TIMED_OUT


@pytest.mark.parametrize("count", [131_075, 8_388_610, 2**31 - 1])
def test_topic_that_does_not_fit_a_znode_is_refused_at_once(count: int) -> None:
    broker = AdminBroker(brokers=3)
    created = create(broker, a_topic("t", count, 1))
    assert created.error.code is ErrorCode.INVALID_PARTITIONS
    assert not run(broker.zk.topic_exists("t"))
