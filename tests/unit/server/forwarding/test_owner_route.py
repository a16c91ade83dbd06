"""Requests that go to one broker whole: the controller, a coordinator."""

from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from kafkalike.coordinator.partitioning import partition_for
from kafkalike.model.topic import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from kafkalike.protocol.api_keys import ApiKey, request_class, response_class
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafkalike.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalike.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkalike.protocol.messages.join_group import JoinGroupRequest
from kafkalike.server.api.registry import Api
from kafkalike.server.forwarding.mark import mark
from kafkalike.server.forwarding.routes import ROUTES
from tests.support.forwarding_world import FakeConnection, World
from tests.support.run import result_of, start

PARTITIONS = 4


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    for topic in (GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC):
        for partition in range(PARTITIONS):
            made.tell(partition, leader=3, topic=topic)
    return made


CREATE = CreateTopicsRequest(timeout_ms=2000, topics=[CreatableTopic(name="new")])


def code(answer: Any) -> ErrorCode:
    ((topic),) = answer.topics
    return ErrorCode(topic.error_code)


def test_controller_request_is_forwarded_whole_and_its_answer_relayed(world: World) -> None:
    """Rule 1: CreateTopics and so on go to the controller, from any broker."""
    answer = world.ask(CREATE)
    (sent,) = world.channels[2].sent
    assert sent == CREATE
    created = CreateTopicsResponse(
        throttle_time_ms=9, topics=[CreatableTopicResult(name="new", error_code=0)]
    )
    world.channels[2].answer(created)
    assert result_of(answer) == created


def test_controller_answers_itself(world: World) -> None:
    world.controller.is_active = True
    context = world.context(world.connect(), 7)
    route = ROUTES[ApiKey.CREATE_TOPICS]
    assert result_of(start(route.handle(_echo(ApiKey.CREATE_TOPICS), context, CREATE))) == "here"
    assert not world.opened


@pytest.mark.parametrize("is_reached", [True, False])
def test_controller_that_is_lost_can_be_asked_again(world: World, is_reached: bool) -> None:
    """Rule 5: a retriable error, in the shape of the API."""
    if not is_reached:
        world.unreachable.add(2)
    answer = world.ask(CREATE)
    if is_reached:
        world.channels[2].close()
    assert code(result_of(answer)) == ErrorCode.NOT_CONTROLLER


def test_time_limit_of_a_controller_request_shrinks(world: World) -> None:
    """Rule 5."""
    world.connecting[2] = Deferred()
    world.ask(CREATE)
    world.clock.advance(0.5)
    world.connecting.pop(2).callback(None)
    (sent,) = world.channels[2].sent
    assert sent.timeout_ms == 1500
    assert world.channels[2].timeouts_ms == [1500 + world.config.request_timeout_ms]


def test_forwarded_controller_request_goes_no_further(world: World) -> None:
    """Rule 4."""
    answer = result_of(world.ask(CREATE, client_id=mark("app", 3)))
    assert code(answer) == ErrorCode.NOT_CONTROLLER
    assert not world.opened


def test_without_forwarding_a_broker_that_is_not_the_controller_says_so(world: World) -> None:
    """M35, rule 8."""
    answer = result_of(world.ask(CREATE, world.connect("REFUSING")))
    assert code(answer) == ErrorCode.NOT_CONTROLLER


CONTROLLER_APIS = [
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.ELECT_LEADERS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.UPDATE_FEATURES,
]


@pytest.mark.parametrize("key", CONTROLLER_APIS, ids=lambda key: key.api_name)
def test_every_api_of_the_controller_is_forwarded(world: World, key: ApiKey) -> None:
    """Rule 1."""
    context = world.context(world.connect(), key.versions[-1])
    request = request_class(key)()
    start(ROUTES[key].handle(_echo(key), context, request))
    assert [type(sent) for sent in world.channels[2].sent] == [request_class(key)]


# --- coordinators


GROUP_APIS = [
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.JOIN_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.OFFSET_DELETE,
    ApiKey.TXN_OFFSET_COMMIT,
]
TRANSACTION_APIS = [
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.END_TXN,
]


def _echo(key: ApiKey) -> Api:
    """An API whose handler answers "here"."""

    async def handle(context: Any, request: Any) -> Any:
        return "here"

    return Api(key, key.versions, handle, request_class(key), response_class(key))


def ask(world: World, key: ApiKey, request: Any, connection: FakeConnection | None = None) -> Any:
    context = world.context(connection or world.connect(), key.versions[-1])
    return start(ROUTES[key].handle(_echo(key), context, request))


@pytest.mark.parametrize("key", GROUP_APIS, ids=lambda key: key.api_name)
def test_group_request_goes_to_the_groups_coordinator(world: World, key: ApiKey) -> None:
    """M31, rule 1: the coordinator is who leads the group's partition."""
    partition = partition_for("g", PARTITIONS)
    world.tell(partition, leader=2, epoch=1, topic=GROUP_METADATA_TOPIC)
    ask(world, key, request_class(key)(group_id="g"))
    assert [type(sent) for sent in world.channels[2].sent] == [request_class(key)]
    assert 3 not in world.channels


@pytest.mark.parametrize("key", TRANSACTION_APIS, ids=lambda key: key.api_name)
def test_transaction_request_goes_to_its_coordinator(world: World, key: ApiKey) -> None:
    """M31, rule 1."""
    partition = partition_for("x", PARTITIONS)
    world.tell(partition, leader=2, epoch=1, topic=TRANSACTION_STATE_TOPIC)
    ask(world, key, request_class(key)(transactional_id="x"))
    assert [type(sent) for sent in world.channels[2].sent] == [request_class(key)]


def test_producer_id_without_a_transaction_comes_from_any_broker(world: World) -> None:
    request = InitProducerIdRequest(transactional_id=None)
    assert result_of(ask(world, ApiKey.INIT_PRODUCER_ID, request)) == "here"


def test_answer_of_a_coordinator_is_relayed(world: World) -> None:
    answer = ask(world, ApiKey.HEARTBEAT, HeartbeatRequest(group_id="g"))
    relayed = HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
    world.channels[3].answer(relayed)
    assert result_of(answer) == relayed
    answer = ask(world, ApiKey.INIT_PRODUCER_ID, InitProducerIdRequest(transactional_id="x"))
    world.channels[3].answer(InitProducerIdResponse(producer_id=5))
    assert result_of(answer).producer_id == 5


def test_group_coordinated_here_or_by_nobody_is_not_forwarded(world: World) -> None:
    partition = partition_for("g", PARTITIONS)
    world.partition(partition, leader=1, epoch=1, topic=GROUP_METADATA_TOPIC)
    assert result_of(ask(world, ApiKey.HEARTBEAT, HeartbeatRequest(group_id="g"))) == "here"
    world.partition(partition, leader=-1, epoch=2, topic=GROUP_METADATA_TOPIC)
    assert result_of(ask(world, ApiKey.HEARTBEAT, HeartbeatRequest(group_id="g"))) == "here"


def test_group_before_there_is_a_topic_for_groups_is_not_forwarded(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert result_of(ask(world, ApiKey.HEARTBEAT, HeartbeatRequest(group_id="g"))) == "here"


def test_member_that_knew_this_broker_as_coordinator_must_learn(world: World) -> None:
    """Rule 7: NOT_COORDINATOR by this broker's own handler, so that the client looks again."""
    partition = partition_for("g", PARTITIONS)
    world.partition(partition, leader=1, epoch=1, topic=GROUP_METADATA_TOPIC)
    connection = world.connect()
    world.partition(partition, leader=2, epoch=2, topic=GROUP_METADATA_TOPIC)
    request = HeartbeatRequest(group_id="g")
    assert result_of(ask(world, ApiKey.HEARTBEAT, request, connection)) == "here"
    world.clock.advance(1)
    ask(world, ApiKey.HEARTBEAT, request)
    assert len(world.channels[2].sent) == 1, "a client that came later is served"


def test_coordinator_that_is_lost_is_refused_by_this_brokers_handler(world: World) -> None:
    """Rule 5."""
    answer = ask(world, ApiKey.HEARTBEAT, HeartbeatRequest(group_id="g"))
    world.channels[3].close()
    assert result_of(answer) == "here"


def test_join_waits_for_the_group(world: World) -> None:
    """A join is answered when all members are back, which may take minutes."""
    ask(world, ApiKey.JOIN_GROUP, JoinGroupRequest(group_id="g", rebalance_timeout_ms=4_000_000))
    assert world.channels[3].timeouts_ms == [4_000_000 + world.config.request_timeout_ms]
