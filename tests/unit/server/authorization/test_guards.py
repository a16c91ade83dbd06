"""Every API asks for what Kafka asks for, and refuses with Kafka's error: all 56, both ways.

M81: requests are authorized by ACLs.
"""

import json
from typing import Any, NamedTuple

import pytest

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.security.acl_operation import AclOperation
from kafkalike.security.resource import CLUSTER_NAME, ResourceType
from kafkalike.server.authorization.guards import UNGUARDED, load_guards
from tests.support.golden import GOLDEN
from tests.support.guarded import Guarded, Permission, a_request, error_codes

Key = ApiKey
Op = AclOperation
Code = ErrorCode


def cluster(operation: AclOperation) -> Permission:
    return operation, ResourceType.CLUSTER, CLUSTER_NAME


def topic(operation: AclOperation) -> Permission:
    return operation, ResourceType.TOPIC, "t"


def group(operation: AclOperation) -> Permission:
    return operation, ResourceType.GROUP, "g"


def txn(operation: AclOperation) -> Permission:
    return operation, ResourceType.TRANSACTIONAL_ID, "x"


class Row(NamedTuple):
    """A request, all that its client needs, and what it hears without any of it."""

    key: ApiKey
    request: Any
    needs: tuple[Permission, ...]
    denied: ErrorCode | None


def row(
    key: ApiKey,
    needs: Permission | tuple[Permission, ...],
    denied: ErrorCode | None,
    /,
    **fields: Any,
) -> Row:
    all_needs = needs if isinstance(needs[0], tuple) else (needs,)
    return Row(key, a_request(key, **fields), all_needs, denied)  # type: ignore[arg-type]


PARTITIONS = [{"name": "t", "partitions": [{"partition_index": 0}]}]
EPOCHS = [{"topic": "t", "partitions": [{"partition": 0}]}]
MARKER = {"producer_id": 1, "topics": [{"name": "t", "partition_indexes": [0]}]}
TOPIC_CONFIG = [{"resource_type": 2, "resource_name": "t"}]
BROKER_CONFIG = [{"resource_type": 4, "resource_name": "1"}]
LOGGER_CONFIG = [{"resource_type": 8, "resource_name": "1"}]
ACL = {"resource_type": 2, "resource_name": "t", "operation": 3, "permission_type": 3}
ENTITY = {"entity": [{"entity_type": "user", "entity_name": "u"}], "ops": []}
NO_CLUSTER = Code.CLUSTER_AUTHORIZATION_FAILED
NO_TOPIC = Code.TOPIC_AUTHORIZATION_FAILED
NO_GROUP = Code.GROUP_AUTHORIZATION_FAILED
NO_TXN = Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED

ROWS = [
    row(
        Key.PRODUCE,
        topic(Op.WRITE),
        NO_TOPIC,
        acks=1,
        topic_data=[{"name": "t", "partition_data": [{"index": 0, "records": None}]}],
    ),
    row(Key.LIST_OFFSETS, topic(Op.DESCRIBE), NO_TOPIC, replica_id=-1, topics=PARTITIONS),
    row(Key.METADATA, topic(Op.DESCRIBE), NO_TOPIC, topics=[{"name": "t"}]),
    row(Key.LEADER_AND_ISR, cluster(Op.CLUSTER_ACTION), NO_CLUSTER),
    row(Key.STOP_REPLICA, cluster(Op.CLUSTER_ACTION), NO_CLUSTER),
    row(Key.UPDATE_METADATA, cluster(Op.CLUSTER_ACTION), NO_CLUSTER),
    row(Key.CONTROLLED_SHUTDOWN, cluster(Op.CLUSTER_ACTION), NO_CLUSTER),
    row(
        Key.OFFSET_COMMIT,
        (group(Op.READ), topic(Op.READ)),
        NO_GROUP,
        group_id="g",
        topics=PARTITIONS,
    ),
    row(
        Key.OFFSET_FETCH,
        (group(Op.DESCRIBE), topic(Op.DESCRIBE)),
        NO_GROUP,
        group_id="g",
        topics=[{"name": "t", "partition_indexes": [0]}],
    ),
    row(Key.FIND_COORDINATOR, group(Op.DESCRIBE), NO_GROUP, key="g", key_type=0),
    row(Key.FIND_COORDINATOR, txn(Op.DESCRIBE), NO_TXN, key="x", key_type=1),
    row(Key.JOIN_GROUP, group(Op.READ), NO_GROUP, group_id="g"),
    row(Key.HEARTBEAT, group(Op.READ), NO_GROUP, group_id="g"),
    row(Key.LEAVE_GROUP, group(Op.READ), NO_GROUP, group_id="g"),
    row(Key.SYNC_GROUP, group(Op.READ), NO_GROUP, group_id="g"),
    row(Key.DESCRIBE_GROUPS, group(Op.DESCRIBE), NO_GROUP, groups=["g"]),
    row(Key.LIST_GROUPS, cluster(Op.DESCRIBE), None),
    row(Key.CREATE_TOPICS, cluster(Op.CREATE), NO_TOPIC, topics=[{"name": "t"}]),
    row(Key.CREATE_TOPICS, topic(Op.CREATE), NO_TOPIC, topics=[{"name": "t"}]),
    row(Key.DELETE_TOPICS, topic(Op.DELETE), NO_TOPIC, topics=[{"name": "t"}]),
    row(Key.DELETE_RECORDS, topic(Op.DELETE), NO_TOPIC, topics=PARTITIONS),
    row(Key.INIT_PRODUCER_ID, txn(Op.WRITE), NO_TXN, transactional_id="x"),
    row(Key.INIT_PRODUCER_ID, cluster(Op.IDEMPOTENT_WRITE), NO_CLUSTER, transactional_id=None),
    row(Key.INIT_PRODUCER_ID, topic(Op.WRITE), NO_CLUSTER, transactional_id=None),
    row(Key.OFFSET_FOR_LEADER_EPOCH, topic(Op.DESCRIBE), NO_TOPIC, topics=EPOCHS),
    row(Key.OFFSET_FOR_LEADER_EPOCH, cluster(Op.CLUSTER_ACTION), NO_TOPIC, topics=EPOCHS),
    row(
        Key.ADD_PARTITIONS_TO_TXN,
        (txn(Op.WRITE), topic(Op.WRITE)),
        NO_TXN,
        transactional_id="x",
        topics=[{"name": "t", "partitions": [0]}],
    ),
    row(
        Key.ADD_OFFSETS_TO_TXN,
        (txn(Op.WRITE), group(Op.READ)),
        NO_TXN,
        transactional_id="x",
        group_id="g",
    ),
    row(Key.END_TXN, txn(Op.WRITE), NO_TXN, transactional_id="x"),
    row(Key.WRITE_TXN_MARKERS, cluster(Op.CLUSTER_ACTION), NO_CLUSTER, markers=[MARKER]),
    row(
        Key.TXN_OFFSET_COMMIT,
        (txn(Op.WRITE), group(Op.READ), topic(Op.READ)),
        NO_TXN,
        transactional_id="x",
        group_id="g",
        topics=PARTITIONS,
    ),
    row(
        Key.DESCRIBE_ACLS,
        cluster(Op.DESCRIBE),
        NO_CLUSTER,
        resource_name_filter=None,
        principal_filter=None,
        host_filter=None,
    ),
    row(Key.CREATE_ACLS, cluster(Op.ALTER), NO_CLUSTER, creations=[ACL]),
    row(
        Key.DELETE_ACLS,
        cluster(Op.ALTER),
        NO_CLUSTER,
        filters=[{"resource_name_filter": None, "principal_filter": None, "host_filter": None}],
    ),
    row(Key.DESCRIBE_CONFIGS, topic(Op.DESCRIBE_CONFIGS), NO_TOPIC, resources=TOPIC_CONFIG),
    row(Key.DESCRIBE_CONFIGS, cluster(Op.DESCRIBE_CONFIGS), NO_CLUSTER, resources=BROKER_CONFIG),
    row(Key.ALTER_CONFIGS, topic(Op.ALTER_CONFIGS), NO_TOPIC, resources=TOPIC_CONFIG),
    row(Key.ALTER_CONFIGS, cluster(Op.ALTER_CONFIGS), NO_CLUSTER, resources=BROKER_CONFIG),
    row(
        Key.ALTER_REPLICA_LOG_DIRS,
        cluster(Op.ALTER),
        NO_CLUSTER,
        dirs=[{"path": "/d", "topics": [{"name": "t", "partitions": [0]}]}],
    ),
    row(Key.DESCRIBE_LOG_DIRS, cluster(Op.DESCRIBE), None, topics=None),
    row(Key.CREATE_PARTITIONS, topic(Op.ALTER), NO_TOPIC, topics=[{"name": "t", "count": 2}]),
    row(Key.DELETE_GROUPS, group(Op.DELETE), NO_GROUP, groups_names=["g"]),
    row(
        Key.ELECT_LEADERS,
        cluster(Op.ALTER),
        NO_CLUSTER,
        topic_partitions=[{"topic": "t", "partition_id": [0]}],
    ),
    row(Key.INCREMENTAL_ALTER_CONFIGS, topic(Op.ALTER_CONFIGS), NO_TOPIC, resources=TOPIC_CONFIG),
    row(
        Key.INCREMENTAL_ALTER_CONFIGS,
        cluster(Op.ALTER_CONFIGS),
        NO_CLUSTER,
        resources=LOGGER_CONFIG,
    ),
    row(Key.ALTER_PARTITION_REASSIGNMENTS, cluster(Op.ALTER), NO_CLUSTER),
    row(Key.LIST_PARTITION_REASSIGNMENTS, cluster(Op.DESCRIBE), NO_CLUSTER, topics=None),
    row(
        Key.OFFSET_DELETE,
        (group(Op.DELETE), topic(Op.READ)),
        NO_GROUP,
        group_id="g",
        topics=PARTITIONS,
    ),
    row(Key.DESCRIBE_CLIENT_QUOTAS, cluster(Op.DESCRIBE_CONFIGS), NO_CLUSTER),
    row(Key.ALTER_CLIENT_QUOTAS, cluster(Op.ALTER_CONFIGS), NO_CLUSTER, entries=[ENTITY]),
    row(Key.DESCRIBE_USER_SCRAM_CREDENTIALS, cluster(Op.DESCRIBE), NO_CLUSTER, users=None),
    row(
        Key.ALTER_USER_SCRAM_CREDENTIALS,
        cluster(Op.ALTER),
        NO_CLUSTER,
        deletions=[{"name": "u", "mechanism": 1}],
    ),
    row(Key.DESCRIBE_DELEGATION_TOKEN, cluster(Op.DESCRIBE), None, owners=None),
    row(Key.ALTER_ISR, cluster(Op.CLUSTER_ACTION), NO_CLUSTER),
    row(Key.UPDATE_FEATURES, cluster(Op.ALTER), NO_CLUSTER),
    row(Key.DESCRIBE_CLUSTER, cluster(Op.DESCRIBE), None),
    row(
        Key.DESCRIBE_PRODUCERS,
        topic(Op.READ),
        NO_TOPIC,
        topics=[{"name": "t", "partition_indexes": [0]}],
    ),
]
IDS = [f"{one.key.name}-{'+'.join(need[0].name for need in one.needs)}" for one in ROWS]
ASKED_FIRST = [Key.LIST_GROUPS, Key.DESCRIBE_DELEGATION_TOKEN, Key.DESCRIBE_CLUSTER]
"""These show everybody what they may see: the API is asked, and its answer filtered."""


def test_every_api_of_kafka_has_a_guard_or_a_reason_for_none() -> None:
    """M81: no API is forgotten."""
    golden = json.loads((GOLDEN / "api_versions.json").read_text())
    advertised = {ApiKey(one["api_key"]) for one in golden["apis"]}
    assert len(advertised) == 56
    assert set(load_guards()) | UNGUARDED == advertised
    assert not set(load_guards()) & UNGUARDED
    assert {one.key for one in ROWS} == set(load_guards())


@pytest.mark.parametrize("one", ROWS, ids=IDS)
def test_request_passes_unchanged_if_all_is_allowed(one: Row) -> None:
    """M81: who may, does."""
    world = Guarded(one.needs, topics=["t"])
    answer = world.ask(one.request)
    assert world.passed == one.request
    assert error_codes(answer) == set()


@pytest.mark.parametrize("one", ROWS, ids=IDS)
def test_request_is_refused_with_kafkas_error_if_nothing_is_allowed(one: Row) -> None:
    """M81: who may not, does not, and hears it in Kafka's words."""
    world = Guarded(topics=["t"])
    answer = world.ask(one.request)
    assert error_codes(answer) == (set() if one.denied is None else {one.denied})
    if one.key in ASKED_FIRST:
        assert world.passed == one.request
    else:
        assert world.passed is None or not _names_something(world.passed)


@pytest.mark.parametrize("one", ROWS, ids=IDS)
@pytest.mark.parametrize("version", ["first", "last"])
def test_refusal_can_be_said_in_every_version(one: Row, version: str) -> None:
    number = one.request.min_version if version == "first" else one.request.max_version
    Guarded(topics=["t"]).ask(one.request, number)


@pytest.mark.parametrize(
    "one", [row for row in ROWS if len(row.needs) > 1], ids=lambda r: r.key.name
)
def test_each_of_several_permissions_is_needed(one: Row) -> None:
    for missing in one.needs:
        world = Guarded([need for need in one.needs if need != missing], topics=["t"])
        answer = world.ask(one.request)
        expected = {
            ResourceType.TOPIC: NO_TOPIC,
            ResourceType.GROUP: NO_GROUP,
            ResourceType.TRANSACTIONAL_ID: NO_TXN,
        }[missing[1]]
        assert error_codes(answer) == {expected}


def _names_something(request: Any) -> bool:
    return any(
        getattr(request, name, None) for name in ("topics", "topic_names", "resources", "groups")
    )
