"""Requests about several groups, each with its own coordinator, and the list of all of them."""

from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from kafkalike.coordinator.partitioning import partition_for
from kafkalike.model.topic import GROUP_METADATA_TOPIC
from kafkalike.protocol.api_keys import ApiKey, request_class, response_class
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from kafkalike.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from kafkalike.protocol.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from kafkalike.server.api.registry import Api
from kafkalike.server.forwarding.routes import ROUTES
from tests.support.forwarding_world import FakeConnection, World
from tests.support.run import result_of, start

PARTITIONS = 3
# One group for each partition of __consumer_offsets, led by brokers 1, 2 and 3.
HERE, THERE, FAR = (
    next(f"g{n}" for n in range(100) if partition_for(f"g{n}", PARTITIONS) == partition)
    for partition in range(PARTITIONS)
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.partition(0, leader=1, topic=GROUP_METADATA_TOPIC)
    for partition, leader in ((1, 2), (2, 3)):
        made.tell(partition, leader, topic=GROUP_METADATA_TOPIC)
    return made


async def handle(context: Any, request: Any) -> Any:
    """Know the group that is coordinated here, as the handlers of all three APIs do."""
    if isinstance(request, DescribeGroupsRequest):
        return described(*request.groups)
    if isinstance(request, DeleteGroupsRequest):
        return deleted(*request.groups_names)
    return listed(HERE)


def _code(group_id: str) -> ErrorCode:
    return ErrorCode.NONE if group_id == HERE else ErrorCode.NOT_COORDINATOR


def described(*group_ids: str, state: str = "") -> DescribeGroupsResponse:
    groups = [
        DescribedGroup(group_id=g, group_state=state, error_code=0 if state else _code(g))
        for g in group_ids
    ]
    return DescribeGroupsResponse(groups=groups)


def deleted(*group_ids: str, code: ErrorCode | None = None) -> DeleteGroupsResponse:
    results = [
        DeletableGroupResult(group_id=g, error_code=_code(g) if code is None else code)
        for g in group_ids
    ]
    return DeleteGroupsResponse(results=results)


def listed(*group_ids: str, throttle_ms: int = 0) -> ListGroupsResponse:
    groups = [ListedGroup(group_id=g, protocol_type="consumer") for g in group_ids]
    return ListGroupsResponse(groups=groups, throttle_time_ms=throttle_ms)


def ask(world: World, request: Any, connection: FakeConnection | None = None) -> "Deferred[Any]":
    key = ApiKey(request.api_key)
    api = Api(key, key.versions, handle, request_class(key), response_class(key))
    context = world.context(connection or world.connect(), key.versions[-1])
    return start(ROUTES[key].handle(api, context, request))


def test_each_group_is_described_by_its_coordinator(world: World) -> None:
    """M31, rule 1: group requests go to their coordinator, and the answers are one again."""
    answer = ask(world, DescribeGroupsRequest(groups=[FAR, HERE, THERE]))
    assert [sent.groups for sent in world.channels[2].sent] == [[THERE]]
    assert [sent.groups for sent in world.channels[3].sent] == [[FAR]]
    world.channels[2].answer(described(THERE, state="Stable"))
    late = described(FAR, state="Empty")
    late.throttle_time_ms = 30
    world.channels[3].answer(late)
    merged = result_of(answer)
    assert [(g.group_id, g.error_code, g.group_state) for g in merged.groups] == [
        (FAR, 0, "Empty"),
        (HERE, 0, ""),
        (THERE, 0, "Stable"),
    ]
    assert merged.throttle_time_ms == 30


def test_groups_that_are_all_here_go_nowhere(world: World) -> None:
    assert result_of(ask(world, DescribeGroupsRequest(groups=[HERE]))) == described(HERE)
    assert result_of(ask(world, DescribeGroupsRequest(groups=[]))) == described()
    assert not world.opened


def test_each_group_is_deleted_by_its_coordinator(world: World) -> None:
    """Rule 1."""
    answer = ask(world, DeleteGroupsRequest(groups_names=[HERE, THERE]))
    world.channels[2].answer(deleted(THERE, code=ErrorCode.NON_EMPTY_GROUP))
    assert [(r.group_id, r.error_code) for r in result_of(answer).results] == [
        (HERE, ErrorCode.NONE),
        (THERE, ErrorCode.NON_EMPTY_GROUP),
    ]


def test_coordinator_that_is_lost_is_none(world: World) -> None:
    """Rule 5: NOT_COORDINATOR, which may be tried again, by this broker's own handler."""
    answer = ask(world, DeleteGroupsRequest(groups_names=[HERE, THERE]))
    world.channels[2].close()
    assert [(r.group_id, r.error_code) for r in result_of(answer).results] == [
        (HERE, ErrorCode.NONE),
        (THERE, ErrorCode.NOT_COORDINATOR),
    ]


def test_without_forwarding_only_own_groups_are_known(world: World) -> None:
    """Rule 8."""
    answer = ask(world, DescribeGroupsRequest(groups=[THERE]), world.connect("REFUSING"))
    assert result_of(answer).groups[0].error_code == ErrorCode.NOT_COORDINATOR
    assert not world.opened


def test_broker_lists_its_own_groups(world: World) -> None:
    """As in Kafka: who wants all groups asks all brokers."""
    assert result_of(ask(world, ListGroupsRequest())) == listed(HERE)
    assert not world.opened


def test_gateway_lists_all_groups(world: World) -> None:
    """Rule 9: its client knows no other broker to ask."""
    request = ListGroupsRequest(states_filter=["Stable"])
    answer = ask(world, request, world.connect("GATEWAY"))
    assert world.channels[2].sent == world.channels[3].sent == [request]
    world.channels[2].answer(listed(THERE, throttle_ms=7))
    world.channels[3].answer(listed(FAR))
    assert result_of(answer) == listed(HERE, THERE, FAR, throttle_ms=7)


def test_gateway_that_cannot_list_all_groups_says_so(world: World) -> None:
    """Rule 5: a retriable error, beside what is known."""
    world.unreachable.add(3)
    answer = ask(world, ListGroupsRequest(), world.connect("GATEWAY"))
    world.channels[2].answer(listed(THERE))
    found = result_of(answer)
    assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert [group.group_id for group in found.groups] == [HERE, THERE]
