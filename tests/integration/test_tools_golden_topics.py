"""kafka-topics says what Kafka 2.8.2's does: recorded commands, run again against our cluster."""

import json
import re
from collections.abc import Iterator
from functools import partial

import pytest

from tests.support.cli_golden import Recorded, run_tool
from tests.support.ensemble import Ensemble
from tests.support.golden_cluster import GoldenCluster, golden_cluster
from tests.support.waiting import wait_until

pytestmark = pytest.mark.ensemble

# Configs come in an order of no meaning, and so do topics.
_SORTED_CONFIGS = "Configs: "
_CONFIGS = {"tuned": {"min.insync.replicas": "2"}, "plain": {"retention.ms": "500000000"}}


@pytest.fixture(scope="module")
def empty(ensemble: Ensemble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoldenCluster]:
    """A cluster without topics."""
    directory = tmp_path_factory.mktemp("tools-create")
    with golden_cluster(directory, f"{ensemble.connect_string}/tools-create") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def topics(ensemble: Ensemble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoldenCluster]:
    """A cluster with the topics of the recording, where they were."""
    directory = tmp_path_factory.mktemp("tools-topics")
    with golden_cluster(directory, f"{ensemble.connect_string}/tools-topics") as cluster:
        for name, (placement, configs) in _placements("topics-describe-all").items():
            cluster.create(name, placement, configs)
        yield cluster


def _placements(*names: str) -> dict[str, tuple[list[list[int]], dict[str, str]]]:
    """Read topics, replicas and configs from recorded descriptions; none of Kafka's own."""
    found: dict[str, tuple[dict[int, list[int]], dict[str, str]]] = {}
    for name in names:
        for line in Recorded.load(name).outcome.stdout.splitlines():
            fields = dict(field.split(": ", 1) for field in line.lstrip("\t").split("\t"))
            replicas, configs = found.setdefault(fields["Topic"], ({}, {}))
            if "Partition" in fields:
                numbers = [int(number) for number in fields["Replicas"].split(",")]
                replicas[int(fields["Partition"])] = numbers
            elif fields["Configs"]:
                configs |= dict(pair.split("=", 1) for pair in fields["Configs"].split(","))
    return {
        topic: ([replicas[p] for p in sorted(replicas)], configs)
        for topic, (replicas, configs) in found.items()
        if not topic.startswith("__")
    }


@pytest.mark.long
def test_topics_are_created_with_the_same_words(empty: GoldenCluster) -> None:
    """M84: from no topics at all to the first ones."""
    for name in (
        "topics-list-empty",
        "topics-create",
        "topics-create-config",
        "topics-create-compacted",
        "topics-create-defaults",
        "topics-create-unknown-broker",
        "topics-create-collision-warning",
        "topics-list",
    ):
        empty.compare(name)


@pytest.mark.parametrize(
    "name",
    [
        "topics-alter-unknown",
        "topics-create-bad-assignment",
        "topics-create-bad-name",
        "topics-create-bad-name-dots",
        "topics-create-collides",
        "topics-create-exists",
        "topics-create-if-not-exists",
        "topics-create-invalid-config-number",
        "topics-create-invalid-config-value",
        "topics-create-name-too-long",
        "topics-create-replica-assignment",
        "topics-create-rf-too-large",
        "topics-create-unknown-config",
        "topics-create-zero-partitions",
        "topics-delete-if-exists",
        "topics-delete-unknown",
        "topics-describe",
        "topics-describe-unknown",
        "topics-list",
        "topics-no-action",
        "topics-no-bootstrap",
    ],
)
def test_recorded_commands_say_the_same(topics: GoldenCluster, name: str) -> None:
    """M84: same output, streams and exit codes as Kafka's own tool."""
    topics.compare(name)


@pytest.mark.parametrize("name", ["topics-describe-all", "topics-describe-overrides"])
def test_descriptions_have_the_same_lines(topics: GoldenCluster, name: str) -> None:
    found = _with_sorted_configs(topics.commands.run(name).stdout)
    assert found == _with_sorted_configs(Recorded.load(name).outcome.stdout)


def _with_sorted_configs(text: str) -> list[str]:
    lines = []
    for line in re.sub(r"(TopicId: )\S+", r"\1UUID", text).splitlines():
        head, label, configs = line.partition(_SORTED_CONFIGS)
        lines.append(head + label + ",".join(sorted(configs.split(","))))
    return sorted(lines)


def test_descriptions_are_json_for_programs(topics: GoldenCluster) -> None:
    server = topics.cluster.bootstrap_servers
    found = run_tool(
        "kafka-topics",
        ["--bootstrap-server", server, "--describe", "--topic", "tuned", "--output", "json"],
    )
    (topic,) = json.loads(found.stdout)
    assert topic["topic"] == "tuned"
    assert [p["partition"] for p in topic["partitions"]] == [0, 1]


def test_topics_grow_and_go(topics: GoldenCluster) -> None:
    """Each of these changes what the next one finds."""
    topics.compare("topics-alter-partitions")
    # A broker that is not the controller hears of it a little later.
    wait_until(partial(topics.compare, "topics-describe-after-alter"))
    topics.compare("topics-alter-partitions-fewer")
    topics.compare("topics-delete")


@pytest.mark.long
def test_lost_broker_is_seen_in_all_reports(
    ensemble: Ensemble, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """M84: what is under-replicated, unavailable or at its minimum, as Kafka's tool tells it."""
    reports = [
        "topics-describe-under-replicated",
        "topics-describe-unavailable",
        "topics-describe-at-min-isr",
    ]
    directory = tmp_path_factory.mktemp("tools-lost-broker")
    connect = f"{ensemble.connect_string}/tools-lost-broker"
    with golden_cluster(directory, connect) as golden:
        for topic, (placement, _) in _placements(*reports).items():
            first = [[1]] if topic == "bulky" else []  # its other partition is in no report
            golden.create(topic, [*first, *placement], _CONFIGS.get(topic))
        golden.create("doomed", [[3, 1, 2]])
        golden.cluster.run("kill", 3)
        for name in reports:
            wait_until(partial(_says, golden, name), 30, f"{name} reports what Kafka's tool does")
        golden.compare("topics-describe-broker-down")
        golden.compare("topics-delete-replica-down")
        golden.compare("topics-describe-pending-delete")


def _says(golden: GoldenCluster, name: str) -> bool:
    found = golden.commands.run(name).stdout
    assert _lines(found) == _lines(Recorded.load(name).outcome.stdout)
    return True


def _lines(text: str) -> list[str]:
    # Kafka's own topics, and what was elsewhere at that time.
    other = re.compile(r"\tTopic: (__|doomed|bulky\tPartition: 0)")
    return sorted(line for line in text.splitlines() if not other.match(line))
