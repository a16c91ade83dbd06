"""The admin tools say what Kafka 2.8.2's do: recorded commands, run again against our cluster."""

import json
from collections.abc import Iterator
from functools import partial

import pytest

from kafkalike.client import KafkaProducer
from tests.support.cli_golden import Outcome, Recorded, run_tool, unordered, unordered_words
from tests.support.ensemble import Ensemble
from tests.support.golden_cluster import GoldenCluster, golden_cluster
from tests.support.waiting import wait_until

pytestmark = pytest.mark.ensemble

TUNED = {"segment.bytes": "16384", "index.interval.bytes": "512", "min.insync.replicas": "2"}


@pytest.fixture(scope="module")
def golden(ensemble: Ensemble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoldenCluster]:
    """A cluster with some of the recorded topics."""
    directory = tmp_path_factory.mktemp("tools-admin")
    with golden_cluster(directory, f"{ensemble.connect_string}/tools-admin") as cluster:
        cluster.create("plain", [[3, 2, 1], [1, 3, 2], [2, 1, 3], [3, 2, 1]])
        cluster.create("tuned", [[3, 2, 1], [1, 3, 2]], TUNED | {"retention.ms": "604800000"})
        cluster.create("defaulted", [[1]])
        cluster.create("txn-in", [[3, 1, 2], [1, 2, 3]])
        cluster.create("bulky", [[1], [2]])
        cluster.fill("txn-in", [30, 30])
        yield cluster


def _run(golden: GoldenCluster, tool: str, *arguments: str) -> Outcome:
    return run_tool(tool, ["--bootstrap-server", golden.cluster.bootstrap_servers, *arguments])


@pytest.mark.parametrize(
    "name",
    [
        "acls-bad-operation",
        "broker-api-versions",
        "cluster-id",
        "configs-alter-broker-readonly",
        "configs-alter-topic-invalid",
        "configs-alter-topic-invalid-value",
        "configs-delete-missing",
        "configs-describe-unknown-topic",
        "delete-records-out-of-range",
        "features-describe",
        "get-offsets-earliest",
        "get-offsets-unknown-topic",
        "leader-election-not-needed",
        "leader-election-unclean",
        "leader-election-unknown",
        "reassign-generate-rf-too-large",
        "reassign-unknown-topic",
    ],
)
def test_recorded_commands_say_the_same(golden: GoldenCluster, name: str) -> None:
    """M84: same output, streams and exit codes as Kafka's own tools."""
    golden.compare(name)


def test_configs_of_a_topic_change_as_recorded(golden: GoldenCluster) -> None:
    golden.compare("configs-alter-topic")
    golden.compare("configs-describe-topic", shape=unordered)
    golden.compare("configs-describe-topic-all", shape=unordered)
    golden.compare("configs-delete-topic")


def test_configs_of_brokers_change_as_recorded(golden: GoldenCluster) -> None:
    """A broker describes what it has heard of, and a change is answered before all have heard."""
    golden.compare("configs-alter-broker")
    wait_until(lambda: golden.compare("configs-describe-broker"))
    golden.compare("configs-alter-broker-default")
    wait_until(lambda: golden.compare("configs-describe-broker-default", shape=unordered))
    server = golden.cluster.bootstrap_servers
    run_tool(
        "kafka-configs",
        f"--bootstrap-server {server} --alter --broker-defaults"
        " --delete-config background.threads,log.retention.ms".split(),
    )


def test_all_configs_of_a_broker_have_the_same_names_and_defaults(golden: GoldenCluster) -> None:
    """Values differ where the recorded broker was set up differently; its keys are there."""
    found = _configs(golden.commands.run("configs-describe-broker-all").stdout)
    wanted = _configs(Recorded.load("configs-describe-broker-all").outcome.stdout)
    known = {key for key in wanted if not key.startswith("listener.name.")}
    assert known - set(found) <= {"port", "delegation.token.master.key"} | _set_there(wanted)
    for key in known & set(found):
        if "STATIC" not in wanted[key] + found[key] and "DYNAMIC" not in wanted[key] + found[key]:
            assert found[key] == wanted[key]


def _configs(text: str) -> dict[str, str]:
    return dict(line.strip().split("=", 1) for line in text.splitlines()[1:])


def _set_there(configs: dict[str, str]) -> set[str]:
    return {key for key, text in configs.items() if "STATIC_BROKER_CONFIG" in text}


def test_levels_of_loggers_are_described_and_changed(golden: GoldenCluster) -> None:
    """Our loggers have our names; the words around them are Kafka's."""
    described = golden.commands.run("configs-broker-logger-describe")
    head, *loggers = described.stdout.splitlines()
    assert head == "Dynamic configs for broker-logger 1 are:"
    name, level = loggers[0].strip().split(" ")[0].split("=")
    assert loggers[0] == f"  {name}={level} sensitive=false synonyms={{}}"
    changed = _run(
        golden, "kafka-configs", "--alter", "--broker-logger", "1", "--add-config", f"{name}=DEBUG"
    )
    assert changed.stdout == Recorded.load("configs-broker-logger").outcome.stdout


def test_quotas_and_credentials_are_set_and_described_as_recorded(golden: GoldenCluster) -> None:
    for name in (
        "configs-quota-user",
        "configs-quota-user-client",
        "configs-quota-client-default",
        "configs-quota-ip",
        "configs-scram-add",
    ):
        golden.compare(name)
    golden.compare("configs-describe-quota-user", shape=unordered_words)
    golden.compare("configs-describe-quota-clients")
    golden.compare("configs-scram-describe")


def test_acls_are_added_listed_and_removed_as_recorded(golden: GoldenCluster) -> None:
    for name in (
        "acls-add-producer",
        "acls-add-consumer",
        "acls-add-prefixed",
        "acls-add-prefixed-again",
        "acls-add-deny-host",
        "acls-add-cluster-txn",
        "acls-add-txnid",
        "acls-add-wildcard",
        "acls-list-topic",
        "acls-list-match",
        "acls-list",
        "acls-remove",
        "acls-remove-all",
    ):
        golden.compare(name, shape=unordered)


def test_acls_are_json_for_programs(golden: GoldenCluster) -> None:
    _run(
        golden,
        "kafka-acls",
        *["--add", "--allow-principal", "User:eve", "--operation", "Read", "--group", "g9"],
    )
    found = _run(golden, "kafka-acls", *["--list", "--principal", "User:eve", "--output", "json"])
    assert json.loads(found.stdout) == [
        {
            "resource_type": "GROUP",
            "name": "g9",
            "pattern_type": "LITERAL",
            "principal": "User:eve",
            "host": "*",
            "operation": "READ",
            "permission_type": "ALLOW",
        }
    ]


def test_records_are_deleted_as_recorded(golden: GoldenCluster) -> None:
    golden.compare("delete-records", shape=unordered)


def test_offsets_are_found_as_recorded(golden: GoldenCluster) -> None:
    golden.create("codec-none", [[2, 1, 3]])
    golden.fill("codec-none", [300])
    golden.compare("get-offsets")
    # The recorded topic had been emptied by then: nothing was as young as the time asked for.
    server = golden.cluster.bootstrap_servers
    found = run_tool(
        "kafka-get-offsets",
        f"--broker-list {server} --topic codec-none --time 9999999999999".split(),
    )
    assert found == Recorded.load("get-offsets-timestamp").outcome


def test_log_directories_are_described_as_recorded(golden: GoldenCluster) -> None:
    """Where a broker puts a new partition is its own choice; the shape and all else are alike."""
    found = golden.commands.run("log-dirs-describe").stdout.splitlines()
    wanted = Recorded.load("log-dirs-describe").outcome.stdout.splitlines()
    assert found[:2] == wanted[:2]
    assert _partitions(found[2]) == _partitions(wanted[2])


def _partitions(text: str) -> dict[int, tuple[list[str], list[str]]]:
    document = json.loads(text)
    assert document["version"] == 1
    return {
        broker["broker"]: (
            sorted(directory["logDir"] for directory in broker["logDirs"]),
            sorted(
                partition["partition"]
                for directory in broker["logDirs"]
                for partition in directory["partitions"]
            ),
        )
        for broker in document["brokers"]
    }


@pytest.mark.long
def test_reassignment_goes_through_all_its_steps_as_recorded(golden: GoldenCluster) -> None:
    """M84: started with a throttle, watched, cancelled, started again, done."""
    with KafkaProducer(bootstrap_servers=golden.cluster.bootstrap_servers) as producer:
        for number in range(4000):
            producer.send("bulky", b"x" * 1000, partition=number % 2)
    golden.compare("reassign-execute")
    golden.compare("reassign-list")
    golden.compare("reassign-verify-in-progress")
    golden.compare("topics-describe-reassigning", masks=[(",?retention.ms=500000000,?", "")])
    golden.compare("reassign-execute-again")
    golden.compare("reassign-cancel")
    golden.compare("reassign-execute-unthrottled")
    wait_until(partial(golden.compare, "reassign-verify-done"), 30, "the reassignment")
    golden.compare("reassign-execute-zookeeper")
    wait_until(
        lambda: "bulky" not in _run(golden, "kafka-reassign-partitions", "--list").stdout, 30
    )
    # Which of the two brokers is first is left to chance.
    golden.compare("reassign-generate", masks=[(r"\[1,3\]", "[3,1]")])


def test_replica_moves_to_another_directory_as_recorded(golden: GoldenCluster) -> None:
    golden.compare("reassign-log-dir")
    wait_until(partial(golden.compare, "reassign-log-dir-verify"), 30, "the move")


@pytest.mark.long
def test_leaders_go_back_to_the_preferred_replicas(golden: GoldenCluster) -> None:
    """M84: after broker 3 was away, its partitions are led by others until somebody asks."""
    golden.cluster.run("kill", 3)
    wait_until(lambda: golden.cluster.partition("plain").leader != 3, 30)
    golden.cluster.run("start", 3)
    golden.cluster.wait_until_in_sync("plain")
    golden.compare("leader-election-preferred-one")
    every = golden.commands.run("leader-election-preferred-all")
    head, names = every.stdout.strip().split(" for partitions ")
    assert head == "Successfully completed leader election (PREFERRED)"
    assert {"plain-3", "tuned-0", "txn-in-0"} <= set(names.split(", "))


def test_preferred_leaders_are_asked_for_through_zookeeper(golden: GoldenCluster) -> None:
    found = golden.commands.run("preferred-election-zookeeper")
    wanted = Recorded.load("preferred-election-zookeeper").outcome
    assert found.exit == 0, found
    assert found.stdout.splitlines()[:3] == wanted.stdout.splitlines()[:3]
    created, started = found.stdout.splitlines()[3:]
    names = created.removeprefix("Created preferred replica election path with ")
    assert {"plain-0", "plain-3", "tuned-1"} <= set(names.split(","))
    listed = ", ".join(names.split(","))
    assert started == (
        f"Successfully started preferred replica election for partitions HashSet({listed})"
    )
