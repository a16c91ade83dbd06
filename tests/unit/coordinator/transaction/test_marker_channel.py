"""Markers on their way to one broker."""

from collections import deque

import pytest
from twisted.internet.error import ConnectionRefusedError as Refused

from kafkalike.coordinator.transaction.marker_channel import MarkerChannel, TxnMarker
from kafkalike.protocol.errors import ErrorCode, NetworkError, ProtocolError
from tests.support.log_observer import FailureObserver
from tests.support.run import result_of, run, start
from tests.support.transactions import OTHER_PARTITION, PARTITION, FakeBrokerSender


class World:
    """A channel, and the connections that it made."""

    def __init__(self) -> None:
        self.sender = FakeBrokerSender()
        self.connections = 0
        self.channel = MarkerChannel("broker 2", self._connect, 1)

    def _connect(self) -> FakeBrokerSender:
        self.connections += 1
        return self.sender


@pytest.fixture
def world() -> World:
    return World()


def a_marker(producer_id: int = 7, *, is_commit: bool = True) -> TxnMarker:
    return TxnMarker(producer_id, 3, 4, is_commit, frozenset({PARTITION, OTHER_PARTITION}))


def test_marker_is_sent_with_all_its_partitions(world: World) -> None:
    written = run(world.channel.write(a_marker(is_commit=False)))
    assert written == {PARTITION: ErrorCode.NONE, OTHER_PARTITION: ErrorCode.NONE}
    assert world.sender.markers == [(7, 3, 4, False, [PARTITION, OTHER_PARTITION])]
    assert [version for _, version in world.sender.requests] == [1]


def test_markers_that_come_meanwhile_go_together(world: World) -> None:
    world.sender.held = deque()
    writing = [start(world.channel.write(a_marker(number))) for number in range(4)]
    assert [len(request.markers) for request, _ in world.sender.requests] == [1]
    world.sender.held.popleft().callback(None)
    assert [len(request.markers) for request, _ in world.sender.requests] == [1, 3]
    world.sender.held.popleft().callback(None)
    for one in writing:
        assert set(result_of(one).values()) == {ErrorCode.NONE}
    assert world.connections == 1


def test_each_partition_has_its_own_answer(world: World) -> None:
    world.sender.codes[PARTITION] = deque([ErrorCode.NOT_LEADER_OR_FOLLOWER])
    assert run(world.channel.write(a_marker())) == {
        PARTITION: ErrorCode.NOT_LEADER_OR_FOLLOWER,
        OTHER_PARTITION: ErrorCode.NONE,
    }


@pytest.mark.parametrize(
    "error", [NetworkError("gone"), ProtocolError("what?"), Refused(), OSError()]
)
def test_broker_that_is_away_is_connected_to_again(world: World, error: Exception) -> None:
    world.sender.errors.append(error)
    assert set(run(world.channel.write(a_marker())).values()) == {ErrorCode.NETWORK_EXCEPTION}
    assert world.sender.is_closed
    assert set(run(world.channel.write(a_marker())).values()) == {ErrorCode.NONE}
    assert world.connections == 2


def test_bug_on_the_way_does_not_keep_a_marker(
    world: World, logged_failures: FailureObserver
) -> None:
    world.sender.errors.append(ValueError("a bug"))
    assert set(run(world.channel.write(a_marker())).values()) == {ErrorCode.UNKNOWN_SERVER_ERROR}
    logged_failures.expect(1)
    assert set(run(world.channel.write(a_marker())).values()) == {ErrorCode.NONE}


def test_who_waits_for_a_closed_channel_is_told(world: World) -> None:
    world.sender.held = deque()
    writing = [start(world.channel.write(a_marker(number))) for number in range(2)]
    world.channel.close()
    for one in writing:
        assert set(result_of(one).values()) == {ErrorCode.NETWORK_EXCEPTION}
    assert world.sender.is_closed


def test_partition_that_the_answer_leaves_out_has_an_error(world: World) -> None:
    first = start(world.channel.write(TxnMarker(7, 3, 4, True, frozenset())))
    assert result_of(first) == {}
    world.sender.held = deque()
    second = start(world.channel.write(a_marker()))
    request, _ = world.sender.requests[-1]
    request.markers[0].topics[0].partition_indexes.pop()
    world.sender.held.popleft().callback(None)
    assert set(result_of(second).values()) == {ErrorCode.NONE, ErrorCode.UNKNOWN_SERVER_ERROR}
