"""Where only a part of a request is allowed, that part is answered and the rest refused."""

from typing import Any

import pytest

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.security.acl_operation import AclOperation, operations_bit_field
from kafkalike.security.resource import CLUSTER_NAME, ResourceType
from kafkalike.server.api.context import CloseConnection
from tests.support.guarded import Guarded, Permission, a_request, a_response

Op = AclOperation
NO_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def on(operation: AclOperation, *topics: str) -> set[Permission]:
    return {(operation, ResourceType.TOPIC, topic) for topic in topics}


def cluster(operation: AclOperation) -> Permission:
    return operation, ResourceType.CLUSTER, CLUSTER_NAME


def group(operation: AclOperation, name: str = "g") -> Permission:
    return operation, ResourceType.GROUP, name


def two_topics(**partition: Any) -> list[dict[str, Any]]:
    return [
        {"name": name, "partitions": [{"partition_index": 0, **partition}]} for name in ("a", "b")
    ]


# --- partitions


def a_produce(acks: int = 1, transactional_id: str | None = None, records: Any = None) -> Any:
    return a_request(
        ApiKey.PRODUCE,
        acks=acks,
        transactional_id=transactional_id,
        topic_data=[
            {"name": name, "partition_data": [{"index": 0, "records": records}]}
            for name in ("a", "b")
        ],
    )


def produced(request: Any) -> Any:
    return a_response(
        ApiKey.PRODUCE,
        responses=[
            {"name": topic.name, "partition_responses": [{"index": 0, "base_offset": 7}]}
            for topic in request.topic_data
        ],
    )


def test_produce_writes_what_is_allowed_and_keeps_the_order() -> None:
    world = Guarded(on(Op.WRITE, "b"), answer=produced)
    answer = world.ask(a_produce())
    assert [topic.name for topic in world.passed.topic_data] == ["b"]
    found = [(t.name, t.partition_responses[0]) for t in answer.responses]
    assert [(name, one.error_code, one.base_offset) for name, one in found] == [
        ("a", NO_TOPIC, -1),
        ("b", 0, 7),
    ]


def test_produce_without_answer_closes_the_connection_but_writes_what_is_allowed() -> None:
    world = Guarded(on(Op.WRITE, "b"), answer=lambda _: None)  # type: ignore[arg-type,return-value]
    with pytest.raises(CloseConnection):
        world.ask(a_produce(acks=0))
    assert [topic.name for topic in world.passed.topic_data] == ["b"]


def transactional_records() -> memoryview:
    builder = BatchBuilder(producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    builder.append(1, None, b"v")
    return memoryview(builder.build())


@pytest.mark.parametrize(
    ("transactional_id", "allowed"),
    [(None, {(Op.WRITE, ResourceType.TRANSACTIONAL_ID, "x")}), ("x", set())],
)
def test_transactional_produce_needs_its_transactional_id(
    transactional_id: str | None, allowed: set[Permission]
) -> None:
    world = Guarded(on(Op.WRITE, "a", "b") | allowed, answer=produced)
    answer = world.ask(a_produce(-1, transactional_id, transactional_records()))
    codes = {p.error_code for topic in answer.responses for p in topic.partition_responses}
    assert codes == {ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED}
    assert world.passed is None


def test_transactional_produce_passes_with_both_permissions() -> None:
    needs = on(Op.WRITE, "a", "b") | {(Op.WRITE, ResourceType.TRANSACTIONAL_ID, "x")}
    world = Guarded(needs, answer=produced)
    request = a_produce(-1, "x", transactional_records())
    world.ask(request)
    assert world.passed is request


def test_offsets_are_committed_for_topics_that_may_be_read() -> None:
    def answer(request: Any) -> Any:
        return a_response(
            ApiKey.OFFSET_COMMIT,
            topics=[
                {"name": t.name, "partitions": [{"partition_index": 0}]} for t in request.topics
            ],
        )

    world = Guarded({group(Op.READ)} | on(Op.READ, "a"), answer=answer)
    request = a_request(ApiKey.OFFSET_COMMIT, group_id="g", topics=two_topics())
    found = world.ask(request)
    assert [topic.name for topic in world.passed.topics] == ["a"]
    codes = {topic.name: topic.partitions[0].error_code for topic in found.topics}
    assert codes == {"a": 0, "b": NO_TOPIC}


def test_of_all_offsets_of_a_group_those_of_visible_topics_are_shown() -> None:
    def answer(request: Any) -> Any:
        topics = [{"name": name, "partitions": []} for name in ("a", "b")]
        return a_response(ApiKey.OFFSET_FETCH, topics=topics)

    world = Guarded({group(Op.DESCRIBE)} | on(Op.READ, "a"), answer=answer)
    found = world.ask(a_request(ApiKey.OFFSET_FETCH, group_id="g", topics=None))
    assert [topic.name for topic in found.topics] == ["a"]


def test_error_of_the_coordinator_is_all_that_an_offset_fetch_says() -> None:
    def answer(request: Any) -> Any:
        return a_response(ApiKey.OFFSET_FETCH, error_code=ErrorCode.NOT_COORDINATOR)

    world = Guarded({group(Op.DESCRIBE)} | on(Op.READ, "a"), answer=answer)
    topics = [{"name": name, "partition_indexes": [0]} for name in ("a", "b")]
    found = world.ask(a_request(ApiKey.OFFSET_FETCH, group_id="g", topics=topics))
    assert found.error_code == ErrorCode.NOT_COORDINATOR
    assert found.topics == []


def test_one_denied_topic_keeps_all_partitions_out_of_a_transaction() -> None:
    needs = on(Op.WRITE, "a", "gone") | {(Op.WRITE, ResourceType.TRANSACTIONAL_ID, "x")}
    world = Guarded(needs, topics=["a", "b"])
    topics = [{"name": name, "partitions": [0]} for name in ("a", "b", "gone")]
    answer = world.ask(a_request(ApiKey.ADD_PARTITIONS_TO_TXN, transactional_id="x", topics=topics))
    codes = {topic.name: topic.results[0].error_code for topic in answer.results}
    assert codes == {
        "a": ErrorCode.OPERATION_NOT_ATTEMPTED,
        "b": NO_TOPIC,
        "gone": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert world.passed is None


# --- groups


def test_groups_are_listed_that_may_be_described() -> None:
    def answer(request: Any) -> Any:
        return a_response(ApiKey.LIST_GROUPS, groups=[{"group_id": "g"}, {"group_id": "h"}])

    world = Guarded({group(Op.READ, "h")}, answer=answer)
    assert [g.group_id for g in world.ask(a_request(ApiKey.LIST_GROUPS)).groups] == ["h"]


def test_described_group_says_what_its_client_may_do() -> None:
    def answer(request: Any) -> Any:
        groups = [{"group_id": name, "authorized_operations": 99} for name in request.groups]
        return a_response(ApiKey.DESCRIBE_GROUPS, groups=groups)

    world = Guarded({group(Op.READ)}, answer=answer)
    request = a_request(
        ApiKey.DESCRIBE_GROUPS, groups=["g", "h"], include_authorized_operations=True
    )
    mine, other = world.ask(request).groups
    assert world.passed.groups == ["g"]
    assert mine.authorized_operations == operations_bit_field([Op.READ, Op.DESCRIBE])
    assert (other.group_id, other.error_code) == ("h", ErrorCode.GROUP_AUTHORIZATION_FAILED)


# --- topics


def created(request: Any) -> Any:
    return a_response(
        ApiKey.CREATE_TOPICS,
        topics=[
            {
                "name": topic.name,
                "num_partitions": 3,
                "replication_factor": 1,
                "configs": [{"name": "k", "value": "v"}],
            }
            for topic in request.topics
        ],
    )


def test_topics_are_created_whose_names_are_allowed() -> None:
    world = Guarded(on(Op.CREATE, "a") | on(Op.DESCRIBE_CONFIGS, "a"), answer=created)
    request = a_request(ApiKey.CREATE_TOPICS, topics=[{"name": "a"}, {"name": "b"}])
    mine, other = world.ask(request).topics
    assert [topic.name for topic in world.passed.topics] == ["a"]
    assert (mine.error_code, mine.num_partitions, len(mine.configs)) == (0, 3, 1)
    assert (other.error_code, other.error_message) == (NO_TOPIC, "Authorization failed.")
    assert other.topic_config_error_code == NO_TOPIC
    assert [action.name for action in world.authorizer.logged] == ["b"]


def test_configs_of_a_new_topic_are_shown_to_who_may_see_them() -> None:
    world = Guarded({cluster(Op.CREATE)}, answer=created)
    (topic,) = world.ask(a_request(ApiKey.CREATE_TOPICS, topics=[{"name": "a"}])).topics
    assert topic.error_code == 0
    assert (topic.num_partitions, topic.replication_factor, topic.configs) == (-1, -1, [])
    assert topic.topic_config_error_code == NO_TOPIC


def test_topic_named_twice_is_left_to_the_api() -> None:
    world = Guarded()
    world.ask(a_request(ApiKey.CREATE_TOPICS, topics=[{"name": "a"}, {"name": "a"}]))
    assert len(world.passed.topics) == 2


ID = b"\1" * 16


@pytest.mark.parametrize(
    ("allowed", "name", "code"),
    [
        (on(Op.DELETE, "a"), None, None),
        (on(Op.DESCRIBE, "a"), "a", NO_TOPIC),
        (set(), None, NO_TOPIC),
    ],
)
def test_topic_deleted_by_id_tells_its_name_only_to_who_may_describe_it(
    allowed: set[Permission], name: str | None, code: ErrorCode | None
) -> None:
    world = Guarded(allowed, topics=["a"], topic_names={ID: "a"})
    topics = [{"name": None, "topic_id": ID}]
    responses = world.ask(a_request(ApiKey.DELETE_TOPICS, topics=topics)).responses
    if code is None:
        assert world.passed.topics[0].topic_id == ID
    else:
        assert world.passed is None
        assert [(one.name, one.error_code) for one in responses] == [(name, code)]


def test_unknown_topic_id_is_not_sent_on() -> None:
    world = Guarded()
    topics = [{"name": None, "topic_id": ID}]
    (one,) = world.ask(a_request(ApiKey.DELETE_TOPICS, topics=topics)).responses
    assert one.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert world.passed is None


# --- metadata


def described(request: Any) -> Any:
    names = ["a", "b"] if request.topics is None else [topic.name for topic in request.topics]
    return a_response(ApiKey.METADATA, topics=[{"name": name} for name in names])


def test_all_topics_are_those_that_may_be_described() -> None:
    world = Guarded(on(Op.WRITE, "a"), answer=described, topics=["a", "b"])
    answer = world.ask(a_request(ApiKey.METADATA, topics=None))
    assert [topic.name for topic in answer.topics] == ["a"]
    assert world.authorizer.logged == []


def test_topic_that_may_not_be_described_is_not_looked_up() -> None:
    world = Guarded(on(Op.READ, "a"), answer=described, topics=["a", "b"])
    answer = world.ask(a_request(ApiKey.METADATA, topics=[{"name": "a"}, {"name": "b"}]))
    assert [topic.name for topic in world.passed.topics] == ["a"]
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [
        ("a", 0),
        ("b", NO_TOPIC),
    ]


def test_v0_does_not_take_no_topics_for_all_topics() -> None:
    def all_of_them(request: Any) -> Any:
        assert request.topics == []
        return a_response(ApiKey.METADATA, topics=[{"name": "a"}, {"name": "b"}])

    world = Guarded(answer=all_of_them, topics=["a", "b"])
    answer = world.ask(a_request(ApiKey.METADATA, topics=[{"name": "b"}]), 0)
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [("b", NO_TOPIC)]


@pytest.mark.parametrize(
    ("allowed", "is_asked"),
    [
        (on(Op.DESCRIBE, "new"), False),
        (on(Op.DESCRIBE, "new") | on(Op.CREATE, "new"), True),
        (on(Op.DESCRIBE, "new") | {cluster(Op.CREATE)}, True),
    ],
)
def test_topic_is_created_by_asking_for_it_only_if_it_may_be(
    allowed: set[Permission], is_asked: bool
) -> None:
    world = Guarded(allowed, answer=described)
    answer = world.ask(a_request(ApiKey.METADATA, topics=[{"name": "new"}]))
    assert [topic.name for topic in world.passed.topics] == (["new"] if is_asked else [])
    assert answer.topics[0].error_code == (0 if is_asked else NO_TOPIC)


def test_metadata_say_what_the_client_may_do() -> None:
    world = Guarded(on(Op.WRITE, "a") | {cluster(Op.ALTER)}, answer=described, topics=["a"])
    request = a_request(
        ApiKey.METADATA,
        topics=[{"name": "a"}],
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )
    answer = world.ask(request, 8)
    (topic,) = answer.topics
    assert topic.topic_authorized_operations == operations_bit_field([Op.WRITE, Op.DESCRIBE])
    assert answer.cluster_authorized_operations == operations_bit_field([Op.ALTER, Op.DESCRIBE])


def test_who_may_not_describe_the_cluster_may_do_nothing_to_it() -> None:
    world = Guarded()
    request = a_request(ApiKey.DESCRIBE_CLUSTER, include_cluster_authorized_operations=True)
    assert world.ask(request).cluster_authorized_operations == 0


# --- configs, tokens


def test_configs_are_described_resource_by_resource() -> None:
    def answer(request: Any) -> Any:
        results = [{"resource_name": one.resource_name} for one in request.resources]
        return a_response(ApiKey.DESCRIBE_CONFIGS, results=results)

    resources = [
        {"resource_type": 2, "resource_name": "a"},
        {"resource_type": 2, "resource_name": "b"},
        {"resource_type": 4, "resource_name": "1"},
    ]
    world = Guarded(on(Op.ALTER_CONFIGS, "a"), answer=answer)
    found = world.ask(a_request(ApiKey.DESCRIBE_CONFIGS, resources=resources)).results
    assert [(one.resource_name, one.error_code, one.error_message) for one in found] == [
        ("a", 0, found[0].error_message),
        ("b", NO_TOPIC, "Topic authorization failed."),
        ("1", ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed."),
    ]


def test_tokens_are_shown_to_owner_renewer_and_who_may_describe_them() -> None:
    def a_token(token_id: str, owner: str, renewer: str = "nobody") -> dict[str, Any]:
        renewers = [{"principal_type": "User", "principal_name": renewer}]
        return {
            "token_id": token_id,
            "principal_type": "User",
            "principal_name": owner,
            "renewers": renewers,
        }

    def answer(request: Any) -> Any:
        tokens = [
            a_token("1", "al"),
            a_token("2", "bo", "al"),
            a_token("3", "bo"),
            a_token("4", "bo"),
        ]
        return a_response(ApiKey.DESCRIBE_DELEGATION_TOKEN, tokens=tokens)

    world = Guarded({(Op.DESCRIBE, ResourceType.DELEGATION_TOKEN, "3")}, answer=answer)
    found = world.ask(a_request(ApiKey.DESCRIBE_DELEGATION_TOKEN, owners=None))
    assert [token.token_id for token in found.tokens] == ["1", "2", "3"]
