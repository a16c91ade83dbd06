"""Who is asked instead of this broker: the rules, and the connections that clients cause."""

from pathlib import Path

import pytest

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.messages.produce import ProduceRequest
from kafkalike.security.acl_operation import AclOperation
from kafkalike.server.forwarding.forwarding import Asker
from kafkalike.server.forwarding.mark import mark
from tests.support.forwarding_world import TOPIC, FakeConnection, World
from tests.support.run import start

TP = TopicPartition(TOPIC, 0)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def leader(
    world: World, connection: FakeConnection | None, client_id: str | None = "app"
) -> int | None:
    context = world.context(connection, 9, client_id=client_id)
    return world.forwarding.leader_elsewhere(context, TP, AclOperation.WRITE)


def test_partition_led_elsewhere_is_its_leaders(world: World) -> None:
    world.partition(0, leader=2)
    assert leader(world, world.connect()) == 2


def test_partition_that_is_not_here_at_all_is_its_leaders(world: World) -> None:
    world.tell(0, leader=3)
    assert leader(world, world.connect()) == 3


def test_partition_led_here_stays(world: World) -> None:
    world.partition(0, leader=1)
    assert leader(world, world.connect()) is None


def test_partition_that_nobody_knows_stays(world: World) -> None:
    assert leader(world, world.connect()) is None


@pytest.mark.parametrize("dead", [-1, 7])
def test_partition_without_a_living_leader_stays(world: World, dead: int) -> None:
    world.tell(0, leader=dead)
    assert leader(world, world.connect()) is None


def test_newest_leader_counts_whoever_told_of_it(world: World) -> None:
    """LeaderAndIsr makes this broker a follower before UpdateMetadata says so."""
    world.partition(0, leader=1, epoch=4)
    world.partition(0, leader=2, epoch=5, is_told=False)
    assert leader(world, world.connect("GATEWAY")) == 2
    world.tell(0, leader=3, epoch=6)
    assert leader(world, world.connect("GATEWAY")) == 3


def test_forwarded_request_is_not_forwarded_again(world: World) -> None:
    """Rule 4: never twice."""
    world.partition(0, leader=2)
    assert leader(world, world.connect(), client_id=mark("app", 3)) is None
    assert leader(world, world.connect(), client_id=mark(None, 3)) is None


def test_request_of_this_broker_to_itself_is_not_forwarded(world: World) -> None:
    world.partition(0, leader=2)
    assert leader(world, None) is None


def test_listener_with_forwarding_switched_off_forwards_nothing(world: World) -> None:
    """Rule 8: `listener.name.X.forwarding.enable=false`."""
    world.partition(0, leader=2)
    assert leader(world, world.connect("REFUSING")) is None
    assert leader(world, world.connect("PLAINTEXT")) == 2


def test_forwarding_switched_off_for_the_broker_can_be_on_for_a_listener(tmp_path: Path) -> None:
    """Rule 8: `forwarding.enable=false`."""
    gateway = "listener.name.gateway.forwarding.enable"
    world = World(tmp_path, {"forwarding.enable": "false", gateway: "true"})
    world.partition(0, leader=2)
    assert leader(world, world.connect("PLAINTEXT")) is None
    assert leader(world, world.connect("GATEWAY")) == 2


def test_client_that_knew_this_broker_as_leader_must_learn(world: World) -> None:
    """Rule 7: led since the connection was opened, and no longer: the error, not the hop."""
    world.partition(0, leader=1)
    knew = world.connect()
    world.clock.advance(1)
    world.partition(0, leader=2, epoch=1)
    world.clock.advance(1)
    assert leader(world, knew) is None
    assert leader(world, world.connect()) == 2, "one that came later never knew"


def test_client_learns_also_where_the_replica_is_gone(world: World) -> None:
    """Rule 7, after a reassignment: StopReplica has deleted the replica that led."""
    world.partition(0, leader=1)
    knew = world.connect()
    world.replicas.remove(TP)
    world.tell(0, leader=3, epoch=1)
    assert leader(world, knew) is None


def test_client_of_a_gateway_has_nothing_to_learn(world: World) -> None:
    """Rule 9: rule 7 does not apply at a gateway listener."""
    world.partition(0, leader=1)
    connection = world.connect("GATEWAY")
    world.partition(0, leader=2, epoch=1)
    assert leader(world, connection) == 2


def test_topic_that_the_client_may_not_use_stays(tmp_path: Path) -> None:
    """Rule 3: ACLs at the entry broker, with the client's own principal; the handler refuses."""
    asked: list[tuple[str | None, AclOperation, str]] = []

    def authorize(asker: Asker, operation: AclOperation, topic: str) -> bool:
        asked.append((asker.client_id, operation, topic))
        return False

    world = World(tmp_path, authorize=authorize)
    world.partition(0, leader=2)
    assert leader(world, world.connect()) is None
    assert asked == [("app", AclOperation.WRITE, TOPIC)]


def test_controller_is_asked_unless_it_is_this_broker(world: World) -> None:
    context = world.context(world.connect(), 7)
    assert world.forwarding.controller_elsewhere(context) == 2
    world.live(1, 2, 3, controller_id=1)
    assert world.forwarding.controller_elsewhere(context) is None
    world.live(1, 3, controller_id=2)
    assert world.forwarding.controller_elsewhere(context) is None, "it is dead"


def test_controller_is_not_asked_where_forwarding_is_off_or_done(world: World) -> None:
    """Rules 4 and 8."""
    refusing = world.context(world.connect("REFUSING"), 7)
    assert world.forwarding.controller_elsewhere(refusing) is None
    forwarded = world.context(world.connect(), 7, client_id=mark("app", 3))
    assert world.forwarding.controller_elsewhere(forwarded) is None


# --- the ways


def send(world: World, connection: FakeConnection, broker_id: int) -> None:
    upstream = world.forwarding.upstream(world.context(connection, 9), broker_id)
    request = ProduceRequest(acks=1, timeout_ms=0)
    sending = start(upstream.send(request, 9, setup_ms=1000, patience_ms=1000))
    sending.addErrback(lambda _: None)


def test_each_client_connection_has_one_connection_to_each_broker(world: World) -> None:
    """Rule 2: one upstream connection per (client connection, broker)."""
    first, second = world.connect(), world.connect()
    for connection in (first, second, first):
        for broker_id in (2, 3):
            send(world, connection, broker_id)
    assert [broker_id for broker_id, _ in world.opened] == [2, 3, 2, 3]


def test_client_id_stays_visible_under_the_mark(world: World) -> None:
    send(world, world.connect(), 2)
    assert world.channels[2].client_id == "__forwarded-by-1:app"


def test_connections_to_brokers_are_closed_with_the_clients(world: World) -> None:
    connection, other = world.connect(), world.connect()
    send(world, connection, 2)
    send(world, connection, 3)
    send(world, other, 2)
    connection.close()
    assert [channel.is_open for _, channel in world.opened] == [False, False, True]


def test_broker_that_is_gone_is_not_waited_for(world: World) -> None:
    connection = world.connect()
    send(world, connection, 2)
    send(world, connection, 3)
    world.live(1, 3)
    assert not world.channels[2].is_open
    assert "broker 2 is gone" in world.channels[2].why_closed
    assert world.channels[3].is_open
    assert connection.is_open
    world.live(1, 2, 3)
    send(world, connection, 2)
    assert world.channels[2].is_open, "it can come back"


def test_all_connections_are_closed_at_the_end(world: World) -> None:
    send(world, world.connect(), 2)
    world.forwarding.shutdown()
    assert not world.channels[2].is_open
