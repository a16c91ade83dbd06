"""Consumer groups with the clients that people use, against ours and Apache Kafka.

M57-M63 as their users see them: partitions are shared, offsets are kept, a restart goes on.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from kafka import KafkaConsumer

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.messages.describe_groups import DescribeGroupsRequest
from tests.support import wire
from tests.support.apache_kafka import ToolResult
from tests.support.broker import Broker
from tests.support.clients.group_member import NAMES, GroupMember
from tests.support.target import Target, unique_topic
from tests.support.waiting import wait_until
from tests.support.wire_groups import committed, wait_for_group_coordinator

ONE_BROKER = {
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "0",
}
CONSOLE_CONSUMER = "kafka.tools.ConsoleConsumer"
GROUPS_COMMAND = "kafka.admin.ConsumerGroupCommand"
VERIFIABLE_CONSUMER = "org.apache.kafka.tools.VerifiableConsumer"
OFFSETS_FORMATTER = "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter"
Tools = Callable[..., ToolResult]


@pytest.fixture(scope="module")
def broker(broker_factory: Callable[..., Broker]) -> Broker:
    return broker_factory(properties=ONE_BROKER)


@pytest.fixture(scope="module")
def client(target: Target) -> Iterator[SimpleClient]:
    with target.connect() as connection:
        wait_for_group_coordinator(connection, "warm-up")
        yield connection


@pytest.fixture
def group() -> str:
    return unique_topic("group")


@pytest.fixture
def topic(client: SimpleClient) -> str:
    """A topic with three partitions of ten records each."""
    name = wire.create_topic(client, "shared", partitions=3)
    write(client, name, 0, 30)
    return name


def write(client: SimpleClient, topic: str, first: int, last: int) -> None:
    """Write the numbers from first up to last, in turn to the partitions."""
    for partition in range(3):
        values = [b"%d" % number for number in range(first, last) if number % 3 == partition]
        wire.append(client, topic, *values, partition=partition)


def numbers(first: int, last: int) -> list[int]:
    return list(range(first, last))


def read(*members: GroupMember) -> list[int]:
    return sorted(int(value) for member in members for value in member.values)


# --- one member


@pytest.mark.parametrize("name", NAMES)
def test_member_reads_everything_and_goes_on_where_it_left_off(
    target: Target, client: SimpleClient, topic: str, group: str, name: str
) -> None:
    """M61, M63: a restarted consumer continues after what was committed."""
    with GroupMember(name, target.bootstrap_servers, group, topic) as first:
        first.wait_for(30)
        first.commit()
    assert read(first) == numbers(0, 30)
    assert [committed(client, group, topic, partition) for partition in range(3)] == [10, 10, 10]
    write(client, topic, 30, 60)
    with GroupMember(name, target.bootstrap_servers, group, topic) as second:
        second.wait_for(30)
    assert read(second) == numbers(30, 60)


@pytest.mark.parametrize("name", ["confluent-kafka", "kafka-python"])
def test_commit_that_is_not_waited_for_counts_too(
    target: Target, client: SimpleClient, topic: str, group: str, name: str
) -> None:
    """M63: commitAsync after processing."""
    with GroupMember(name, target.bootstrap_servers, group, topic) as member:
        member.wait_for(30)
        member.commit(is_async=True)
    assert committed(client, group, topic) == 10


def test_member_of_one_library_goes_on_where_one_of_another_left_off(
    target: Target, client: SimpleClient, topic: str, group: str
) -> None:
    """M61: a replaced consumer continues where the group left off."""
    for number, name in enumerate(NAMES):
        with GroupMember(name, target.bootstrap_servers, group, topic) as member:
            member.wait_for(30)
            member.commit()
        assert read(member) == numbers(30 * number, 30 * number + 30)
        write(client, topic, 30 * number + 30, 30 * number + 60)


# --- several members


def wait_until_shared(members: list[GroupMember], partitions: int = 3) -> None:
    """Wait until every partition has exactly one member."""

    def is_shared() -> bool:
        if any(member.assigned is None for member in members):
            return False
        owned = [partition for member in members for partition in member.assigned or ()]
        return sorted(owned) == list(range(partitions))

    wait_until(is_shared, 60, "one owner for each partition")


def test_members_of_different_libraries_share_the_partitions(
    target: Target, client: SimpleClient, topic: str, group: str
) -> None:
    """M57: each partition has exactly one member; members join and leave."""
    with ExitStack() as stack:
        members = [GroupMember(name, target.bootstrap_servers, group, topic) for name in NAMES]
        for count in (1, 2, 3):
            stack.enter_context(members[count - 1])
            wait_until_shared(members[:count])
        assert [len(member.assigned or ()) for member in members] == [1, 1, 1]
        members[0].stop()
        wait_until_shared(members[1:])


def test_surplus_member_is_idle_until_another_goes(target: Target, topic: str, group: str) -> None:
    """M58: four members, three partitions."""
    with ExitStack() as stack:
        members = [
            stack.enter_context(GroupMember(NAMES[0], target.bootstrap_servers, group, topic))
            for _ in range(4)
        ]
        wait_until_shared(members)
        assert sorted(len(member.assigned or ()) for member in members) == [0, 1, 1, 1]
        busy = next(member for member in members if member.assigned)
        busy.stop()
        members.remove(busy)
        wait_until_shared(members)
        assert sorted(len(member.assigned or ()) for member in members) == [1, 1, 1]


def test_groups_read_the_same_topic_independently(
    target: Target, client: SimpleClient, topic: str
) -> None:
    """M59: what one group reads and commits is nothing to another."""
    one, other = unique_topic("one"), unique_topic("other")
    with (
        GroupMember(NAMES[0], target.bootstrap_servers, one, topic) as first,
        GroupMember(NAMES[1], target.bootstrap_servers, other, topic) as second,
    ):
        first.wait_for(30)
        second.wait_for(30)
        first.commit()
    assert read(first) == read(second) == numbers(0, 30)
    assert (committed(client, one, topic), committed(client, other, topic)) == (10, -1)


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_every_assignor_shares_the_partitions(
    target: Target, topic: str, group: str, strategy: str
) -> None:
    options = {"partition.assignment.strategy": strategy}
    with ExitStack() as stack:
        members = [
            GroupMember(NAMES[0], target.bootstrap_servers, group, topic, options=options)
            for _ in range(3)
        ]
        for count in (1, 2, 3):
            stack.enter_context(members[count - 1])
            wait_until_shared(members[:count])
        members[1].stop()
        wait_until_shared([members[0], members[2]])


def test_cooperative_members_keep_what_they_need_not_give_away(
    target: Target, topic: str, group: str
) -> None:
    """KIP-429: the partitions that stay are never taken away, not even for a moment."""
    options = {"partition.assignment.strategy": "cooperative-sticky"}
    first = GroupMember(NAMES[0], target.bootstrap_servers, group, topic, options=options)
    second = GroupMember(NAMES[0], target.bootstrap_servers, group, topic, options=options)
    with first:
        wait_until_shared([first])
        with second:
            wait_until_shared([first, second])
            assert len(first.assigned or ()) == 2
            assert first.assignments >= 1
            # Nothing was read twice: what was kept was read on, what was given away was new there.
            first.wait_for(30)
            kept = [got for got in first.received if got.partition in (first.assigned or ())]
            assert len(kept) == len(set(kept)) == 20


def test_static_member_restarts_without_a_rebalance(
    target: Target, client: SimpleClient, topic: str, group: str
) -> None:
    """KIP-345, with librdkafka: the other member notices nothing."""

    def member(instance: str) -> GroupMember:
        options = {"group.instance.id": instance}
        return GroupMember(NAMES[0], target.bootstrap_servers, group, topic, options=options)

    with member("a") as first:
        wait_until_shared([first])
        second = member("b")
        with second:
            wait_until_shared([first, second])
        before, rebalances = second.assigned, first.assignments
        restarted = member("b")
        with restarted:
            wait_until(lambda: restarted.assigned is not None, 30, "the old assignment")
            assert first.assignments == rebalances
            wait_until_shared([first, restarted])
        assert before is None  # it was stopped


# --- when to commit


def test_auto_commit_can_lose_what_was_not_processed(
    target: Target, client: SimpleClient, topic: str, group: str
) -> None:
    """M62: auto-commit commits what was handed out, whether or not it was processed.

    The consumer takes all records and fails at the tenth; as it closes, auto-commit has already
    said "read" to all of them: the next one never sees the other twenty.
    """
    processed = _process_and_fail(target, group, topic, enable_auto_commit=True)
    with GroupMember(NAMES[1], target.bootstrap_servers, group, topic) as successor:
        wait_until(lambda: successor.assigned, 30, "an assignment")
        write(client, topic, 30, 33)
        successor.wait_for(3)
    assert len(processed) == 10
    assert read(successor) == numbers(30, 33)
    lost = set(numbers(0, 30)) - set(processed) - set(read(successor))
    assert len(lost) == 20


def test_commit_after_processing_loses_nothing(target: Target, topic: str, group: str) -> None:
    """M62, M63: who commits by hand after processing sees again what was not processed."""
    processed = _process_and_fail(target, group, topic, enable_auto_commit=False)
    with GroupMember(NAMES[1], target.bootstrap_servers, group, topic) as successor:
        successor.wait_for(30)
    assert set(numbers(0, 30)) == set(processed) | set(read(successor))


def _process_and_fail(
    target: Target, group: str, topic: str, *, enable_auto_commit: bool
) -> list[int]:
    """Take all records, process ten of them and fail; return what was processed."""
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=target.bootstrap_servers,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=enable_auto_commit,
        auto_commit_interval_ms=100,
    )
    taken: list[int] = []

    def all_taken() -> bool:
        found = consumer.poll(timeout_ms=500)
        taken.extend(int(r.value) for records in found.values() for r in records)
        return len(taken) >= 30

    wait_until(all_taken, 60, "all records")
    processed = taken[:10]  # and here it fails
    consumer.close(autocommit=enable_auto_commit)
    return processed


# --- Kafka's own tools


@pytest.mark.kafka
def test_java_consumer_goes_on_where_a_python_one_left_off(
    target: Target,
    client: SimpleClient,
    topic: str,
    group: str,
    apache_kafka_tools: Tools,
) -> None:
    """M61, with the Java console consumer."""
    with GroupMember(NAMES[1], target.bootstrap_servers, group, topic) as member:
        member.wait_for(30)
        member.commit()
    write(client, topic, 30, 60)
    result = apache_kafka_tools(
        CONSOLE_CONSUMER,
        *("--bootstrap-server", target.bootstrap_servers, "--topic", topic, "--group", group),
        *("--max-messages", "30", "--timeout-ms", "30000"),
    )
    assert sorted(map(int, result.stdout.split())) == numbers(30, 60)
    assert committed(client, group, topic) == 20


@pytest.mark.kafka
def test_java_verifiable_consumer_reads_and_commits(
    target: Target, client: SimpleClient, topic: str, group: str, apache_kafka_tools: Tools
) -> None:
    """M57, M63: with Kafka's own test client, which commits what it has consumed."""
    command = (
        *("--bootstrap-server", target.bootstrap_servers, "--topic", topic),
        *("--group-id", group, "--max-messages", "30", "--reset-policy", "earliest"),
    )
    result = apache_kafka_tools(VERIFIABLE_CONSUMER, *command)
    events = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    assigned = [event for event in events if event["name"] == "partitions_assigned"]
    assert sorted(one["partition"] for one in assigned[-1]["partitions"]) == [0, 1, 2]
    counts = [event["count"] for event in events if event["name"] == "records_consumed"]
    assert sum(counts) == 30
    commits = [event for event in events if event["name"] == "offsets_committed"]
    assert commits
    assert all(event["success"] for event in commits)
    assert [committed(client, group, topic, partition) for partition in range(3)] == [10, 10, 10]


@pytest.mark.kafka
def test_offsets_topic_is_readable_by_kafkas_own_formatter(
    target: Target, topic: str, group: str, apache_kafka_tools: Tools
) -> None:
    """M60: the broker keeps offsets per group, topic and partition in `__consumer_offsets`."""
    with GroupMember(NAMES[0], target.bootstrap_servers, group, topic) as member:
        member.wait_for(30)
        member.commit()

    def formatted() -> list[str]:
        result = apache_kafka_tools(
            CONSOLE_CONSUMER,
            *("--bootstrap-server", target.bootstrap_servers, "--topic", "__consumer_offsets"),
            *("--formatter", OFFSETS_FORMATTER, "--from-beginning", "--timeout-ms", "8000"),
            *("--consumer-property", "exclude.internal.topics=false"),
        )
        return [line for line in result.stdout.splitlines() if line.startswith(f"[{group},")]

    # On a busy machine it may give up before it has read anything.
    lines = wait_until(formatted, 120, "anything read")
    for partition in range(3):
        expected = f"[{group},{topic},{partition}]::OffsetAndMetadata(offset=10, "
        assert any(line.startswith(expected) for line in lines), lines


@pytest.mark.kafka
def test_group_tool_lists_describes_resets_and_deletes(
    target: Target, client: SimpleClient, topic: str, group: str, apache_kafka_tools: Tools
) -> None:
    def groups(*arguments: str) -> str:
        command = ("--bootstrap-server", target.bootstrap_servers, *arguments)
        return apache_kafka_tools(GROUPS_COMMAND, *command).stdout

    with GroupMember(NAMES[0], target.bootstrap_servers, group, topic) as member:
        member.wait_for(30)
        member.commit()
        assert group in groups("--list").split()
        described = groups("--describe", "--group", group)
        rows = [line.split() for line in described.splitlines() if line.startswith(group)]
        assert [row[2:6] for row in sorted(rows)] == [
            [str(partition), "10", "10", "0"] for partition in range(3)
        ]
        assert "Stable" in groups("--describe", "--group", group, "--state")
    _wait_for_state(client, group, "Empty")
    reset = ("--reset-offsets", "--to-earliest", "--topic", topic, "--execute")
    groups("--group", group, *reset)
    assert [committed(client, group, topic, partition) for partition in range(3)] == [0, 0, 0]
    assert "was successful" in groups("--delete", "--group", group)
    _wait_for_state(client, group, "Dead")


def _wait_for_state(client: SimpleClient, group: str, state: str) -> None:
    def is_so() -> bool:
        (found,) = client.send(DescribeGroupsRequest(groups=[group])).groups
        return bool(found.group_state == state)

    wait_until(is_so, 30, f"{group} is {state}")
