"""kafka-consumer-groups says what Kafka 2.8.2's does: recorded commands, run against our cluster.

The groups are those of the recording: g-java has read and gone, g-live has a static and a dynamic
member, g-py one of kafka-python, g-old waits for a member that does not come back.
"""

import contextlib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import kafka
import pytest

from kafkalike.client import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafkalike.client.consumer.offsets import OffsetAndMetadata
from tests.support.cli_golden import Outcome, Recorded, run_tool, unordered
from tests.support.ensemble import Ensemble
from tests.support.golden_cluster import GoldenCluster, golden_cluster
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.ensemble, pytest.mark.long]

PLAIN = [[3, 2, 1], [1, 3, 2], [2, 1, 3], [3, 2, 1]]
READ = {"g-java": {"plain": [2, 1, 2, 4]}, "eos-group": {"txn-in": [30, 30]}}
MEMBER_ID = (r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "-UUID")
COORDINATOR = (r"ADDRESS \(\d\)", "ADDRESS (N)")


@pytest.fixture(scope="module")
def golden(ensemble: Ensemble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoldenCluster]:
    """A cluster with the recorded topics and the groups that have gone."""
    directory = tmp_path_factory.mktemp("tools-groups")
    with golden_cluster(directory, f"{ensemble.connect_string}/tools-groups") as cluster:
        cluster.create("plain", PLAIN)
        cluster.create("tuned", [[3, 2, 1], [1, 3, 2]])
        cluster.create("txn-in", [[3, 1, 2], [1, 2, 3]])
        cluster.fill("plain", [20, 3, 2, 4])
        cluster.fill("txn-in", [30, 30])
        _commit(cluster)
        yield cluster


def _commit(cluster: GoldenCluster) -> None:
    with KafkaAdminClient(bootstrap_servers=cluster.cluster.bootstrap_servers) as admin:
        for group, topics in READ.items():
            for topic, offsets in topics.items():
                new = {TopicPartition(topic, p): _at(offset) for p, offset in enumerate(offsets)}
                admin.alter_group_offsets(group, new)


def _at(offset: int) -> OffsetAndMetadata:
    return OffsetAndMetadata(offset)


def _run(golden: GoldenCluster, *arguments: str) -> Outcome:
    server = golden.cluster.bootstrap_servers
    return run_tool("kafka-consumer-groups", ["--bootstrap-server", server, *arguments])


def _member(golden: GoldenCluster, group: str, client_id: str, **settings: Any) -> KafkaConsumer:
    return KafkaConsumer(
        bootstrap_servers=golden.cluster.bootstrap_servers,
        group_id=group,
        client_id=client_id,
        auto_offset_reset="earliest",
        partition_assignment_strategy=["cooperative-sticky"],
        **settings,
    )


@contextlib.contextmanager
def live_group(golden: GoldenCluster) -> Iterator[list[KafkaConsumer]]:
    """The group g-live: a static and a dynamic member, with two partitions each, all read."""
    members = [
        _member(golden, "g-live", "live-b", group_instance_id="static-b"),
        _member(golden, "g-live", "live-a"),
    ]
    try:
        for member in members:
            member.subscribe(["plain"])
        with ThreadPoolExecutor(len(members)) as threads:

            def read() -> bool:
                list(threads.map(lambda member: member.poll(200), members))
                return _lag(golden, "g-live") == [0, 0, 0, 0] and all(
                    len(member.assignment()) == 2 for member in members
                )

            wait_until(read, 60, "the group is balanced and has read everything")
            list(threads.map(lambda member: member.commit(), members))
        yield members
    finally:
        for member in members:
            member.close()


def _lag(golden: GoldenCluster, group: str) -> list[int | None]:
    (found,) = json.loads(_run(golden, "--describe", "--group", group, "--output", "json").stdout)
    return [row["lag"] for row in found["rows"]]


def test_group_that_is_gone_is_described_reset_and_deleted_as_recorded(
    golden: GoldenCluster,
) -> None:
    """M84: each of these changes what the next one finds."""
    golden.compare("groups-describe-empty", shape=unordered)
    golden.compare("groups-describe-empty-state", masks=[COORDINATOR])
    golden.compare("groups-reset-dry-run")
    golden.compare("groups-reset-export", shape=unordered)
    golden.compare("groups-reset-execute")
    golden.compare("groups-delete-offsets")
    golden.compare("groups-delete")
    golden.compare("groups-delete-unknown")
    golden.compare("groups-describe-unknown")
    _commit(golden)


@pytest.mark.parametrize(
    ("scenario", "offset"),
    [
        ("--to-earliest", 0),
        ("--to-latest", 20),
        ("--to-current", 2),
        ("--to-offset 7", 7),
        ("--shift-by 3", 5),
        ("--to-datetime 2020-01-01T00:00:00.000", 0),
        ("--by-duration PT0S", 20),
        ("--from-file plan.csv", 11),
    ],
)
def test_offsets_are_reset_in_every_way(
    golden: GoldenCluster, scenario: str, offset: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(golden.directory)
    (golden.directory / "plan.csv").write_text("plain,0,11\n")
    with KafkaAdminClient(bootstrap_servers=golden.cluster.bootstrap_servers) as admin:
        admin.alter_group_offsets("g-reset", {TopicPartition("plain", 0): _at(2)})
        options = f"--reset-offsets --group g-reset --topic plain:0 --execute {scenario}".split()
        found = _run(golden, *options, "--output", "json")
        assert [row["offset"] for row in json.loads(found.stdout)] == [offset]
        committed = admin.list_consumer_group_offsets("g-reset")
        assert committed[TopicPartition("plain", 0)].offset == offset
        admin.delete_groups(["g-reset"])


def test_group_with_members_is_described_as_recorded(golden: GoldenCluster) -> None:
    """M84: members, state and offsets; and it is left alone while it is alive."""
    with live_group(golden) as (_, dynamic):
        golden.compare("groups-describe", masks=[MEMBER_ID], shape=_members_by_partitions)
        golden.compare("groups-describe-members", masks=[MEMBER_ID], shape=unordered)
        verbose = _run(golden, "--describe", "--group", "g-live", "--members", "--verbose")
        assert verbose.stdout.splitlines()[1].endswith("#PARTITIONS     ASSIGNMENT")
        assert "plain(" in verbose.stdout
        golden.compare("groups-describe-state", masks=[COORDINATOR])
        golden.compare("groups-delete-live")
        golden.compare("groups-reset-live")
        dynamic.close()
        golden.compare("groups-describe-static-left", masks=[COORDINATOR])


def _members_by_partitions(text: str) -> tuple[list[str], list[str]]:
    """Which of the members has which partitions is not the tool's to say."""
    column = text.find("CONSUMER-ID") - 1  # an empty line is before the heads
    lines = text.splitlines()
    return sorted(line[:column] for line in lines), sorted(line[column:] for line in lines)


def test_groups_are_listed_as_recorded(golden: GoldenCluster) -> None:
    """M84: with members of kafka-python, and one group that waits for a member."""
    server = golden.cluster.bootstrap_servers
    python = kafka.KafkaConsumer(
        "plain",
        "tuned",
        bootstrap_servers=server,
        group_id="g-py",
        client_id="kafka-python-live",
    )
    with contextlib.ExitStack() as open_clients:
        open_clients.enter_context(live_group(golden))
        open_clients.enter_context(contextlib.closing(python))
        old = [_member(golden, "g-old", f"old-{number}") for number in (1, 2)]
        for member in old:
            open_clients.enter_context(contextlib.closing(member))
        wait_until(lambda: python.poll(100) is not None and python.assignment(), 30)
        _commit_nothing(golden, "g-py2")
        for member in old:
            member.subscribe(["plain"])
        wait_until(lambda: old[0].poll(100) is not None and old[0].assignment(), 30)
        old[1].poll(100)
        golden.compare("groups-describe-python", masks=[MEMBER_ID])
        golden.compare("groups-list-state", shape=unordered)
        golden.compare("groups-list", shape=_without_console)
        found = golden.commands.run("groups-describe-all")
        wanted = _tables(Recorded.load("groups-describe-all").outcome.stdout)
        for group in ("eos-group", "g-java"):
            assert _tables(found.stdout)[group] == wanted[group]
        assert "Consumer group 'g-java' has no active members." in found.stderr


def _tables(text: str) -> dict[str, list[str]]:
    """Return the table of each group; partitions without a reader come in no order."""
    tables = [table.splitlines() for table in text.strip().split("\n\n")]
    return {rows[0].split()[0]: [head, *sorted(rows)] for head, *rows in tables}


def _commit_nothing(golden: GoldenCluster, group: str) -> None:
    with KafkaAdminClient(bootstrap_servers=golden.cluster.bootstrap_servers) as admin:
        admin.alter_group_offsets(group, {TopicPartition("plain", 0): _at(0)})


def _without_console(text: str) -> list[str]:
    return [line for line in unordered(text) if not line.startswith("console-consumer-")]
