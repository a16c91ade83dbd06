"""The console tools say what Kafka 2.8.2's do: recorded commands, run again against our cluster."""

import hashlib
import json
import socket
import subprocess
from collections.abc import Iterator

import pytest

from kafkalike.client import KafkaProducer
from tests.support.cli_golden import Outcome, run_tool, unordered
from tests.support.cluster import KAFKALIKE
from tests.support.ensemble import Ensemble
from tests.support.golden_cluster import GoldenCluster, golden_cluster

pytestmark = pytest.mark.ensemble

FIRST_TIMESTAMP_MS = 1_600_000_000_000


@pytest.fixture(scope="module")
def golden(ensemble: Ensemble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoldenCluster]:
    """A cluster with the recorded topics, without their records."""
    directory = tmp_path_factory.mktemp("tools-console")
    with golden_cluster(directory, f"{ensemble.connect_string}/tools-console") as cluster:
        cluster.create("plain", [[3, 2, 1], [1, 3, 2], [2, 1, 3], [3, 2, 1]])
        for name in ("codec-gzip", "codec-none", "transactional"):
            cluster.create(name, [[2, 1, 3]])
        yield cluster


def _value(number: int) -> bytes:
    return f"value-{number}-{3 * hashlib.md5(str(number).encode()).hexdigest()}".encode()


def _server(golden: GoldenCluster) -> str:
    return golden.cluster.bootstrap_servers


def _produce(golden: GoldenCluster, topic: str, stdin: str, *more: str) -> Outcome:
    server = _server(golden)
    arguments = ["--broker-list", server, "--topic", topic, *more]
    return run_tool("kafka-console-producer", arguments, stdin)


def _consume(golden: GoldenCluster, topic: str, *more: str) -> Outcome:
    server = _server(golden)
    arguments = ["--bootstrap-server", server, "--topic", topic, "--from-beginning", *more]
    return run_tool("kafka-console-consumer", arguments)


@pytest.mark.long
def test_lines_are_sent_and_read_by_a_group_as_recorded(golden: GoldenCluster) -> None:
    """M84: what the console producer sent with and without keys, the group reads once."""
    golden.compare("console-producer")
    golden.compare("console-producer-keys")
    golden.compare("console-consumer-group", shape=unordered)
    again = golden.commands.run("console-consumer-group")
    assert again.stdout == ""
    assert again.stderr.endswith("Processed a total of 0 messages\n")


def test_unknown_topic_is_created_with_a_warning_as_recorded(golden: GoldenCluster) -> None:
    golden.compare("console-producer-unknown-topic", masks=[(r" with correlation id \d+", "")])
    assert _consume(golden, "autocreated", "--max-messages", "1").stdout == "x\n"


def test_partition_and_offset_are_read_as_recorded(golden: GoldenCluster) -> None:
    with KafkaProducer(
        bootstrap_servers=_server(golden), compression_type="gzip", acks="all"
    ) as producer:
        for number in range(600):
            producer.send("codec-gzip", _value(number))
    golden.compare("console-consumer-offset")


def test_everything_about_a_record_is_printed_as_recorded(golden: GoldenCluster) -> None:
    with KafkaProducer(bootstrap_servers=_server(golden), acks="all") as producer:
        for number in range(10):
            headers = [("h1", b"a%d" % number), ("h-null", None), ("hé", b"\0\xff")]
            producer.send(
                "codec-none",
                _value(number),
                key=b"k%d" % (number % 7) if number % 3 else None,
                headers=[] if number % 5 else headers,
                timestamp_ms=FIRST_TIMESTAMP_MS + 1000 * number,
            )
    golden.compare("console-consumer-print")


@pytest.mark.long
def test_only_what_was_committed_is_read_as_recorded(golden: GoldenCluster) -> None:
    """M84: every other transaction was given up; its records are not shown."""
    with KafkaProducer(
        bootstrap_servers=_server(golden), transactional_id="golden", acks="all"
    ) as producer:
        producer.init_transactions()
        for first in range(0, 125, 25):
            producer.begin_transaction()
            for number in range(first, first + 25):
                producer.send("transactional", _value(number))
            producer.flush()
            if first % 50:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
        producer.begin_transaction()
        for number in range(500, 510):
            producer.send("transactional", _value(number))
        producer.commit_transaction()
    golden.compare("console-consumer-committed")


def test_producer_takes_a_broker_list_m83(golden: GoldenCluster) -> None:
    """M83: `kafka-console-producer --broker-list host:port --topic t`, as it is typed."""
    golden.create("t", [[1], [2]])
    sent = _produce(golden, "t", "old\nstyle\n")
    assert (sent.stdout, sent.exit) == ("", 0)
    read = _consume(golden, "t", "--max-messages", "2")
    assert unordered(read.stdout) == ["old", "style"]


def test_lines_without_key_go_to_the_partitions_in_turn_m43(golden: GoldenCluster) -> None:
    """M43: 300 lines over three partitions are 100 for each: 0, 1, 2, 0, 1, 2 …"""
    golden.create("turns", [[1], [2], [3]])
    _produce(golden, "turns", "".join(f"{number}\n" for number in range(300)))
    found = _consume(golden, "turns", "--max-messages", "300", "--output", "json")
    records = [json.loads(line) for line in found.stdout.splitlines()]
    by_partition: dict[int, list[int]] = {}
    for record in records:
        by_partition.setdefault(record["partition"], []).append(int(record["value"]))
    assert [len(by_partition[partition]) for partition in range(3)] == [100, 100, 100]
    assert all(
        [number % 3 for number in numbers] == [numbers[0] % 3] * 100
        for numbers in by_partition.values()
    )


def test_keys_and_headers_come_out_as_they_went_in(golden: GoldenCluster) -> None:
    golden.create("truck-positions", [[1], [2], [3]])
    properties = ["parse.key=true", "key.separator=:", "parse.headers=true"]
    options = [word for pair in properties for word in ("--property", pair)]
    _produce(golden, "truck-positions", "from:gps,at:9\ttruck-7:52.5,13.4\n", *options)
    shown = ["print.key=true", "print.headers=true", "print.partition=true", "key.separator= | "]
    options = [word for pair in shown for word in ("--property", pair)]
    found = _consume(golden, "truck-positions", "--max-messages", "1", *options)
    assert found.stdout.split(" | ")[1:] == ["from:gps,at:9", "truck-7", "52.5,13.4\n"]


def test_broker_that_is_away_is_named(golden: GoldenCluster) -> None:
    """The address, and what to do about it, instead of a stack trace."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        options = ["--bootstrap-server", address, "--topic", "t", "--max-block-ms", "500"]
        found = run_tool("kafka-console-producer", options, "x\n")
    assert address in found.stderr


def test_verifiable_producer_tells_of_each_record_as_recorded(golden: GoldenCluster) -> None:
    """M84: the same events with the same fields, whatever the partitions."""
    golden.compare(
        "verifiable-producer",
        shape=_events,
        masks=[(r'"(timestamp|offset|partition|avg_throughput)":[\d.E-]+', r'"\1":0')],
    )


def _events(text: str) -> list[str]:
    # Answers come in any order.
    return sorted(text.splitlines())


def test_verifiable_consumer_reads_what_the_producer_told(golden: GoldenCluster) -> None:
    golden.create("verified", [[1], [2]])
    golden.cluster.wait_until_in_sync("verified")
    # The tool tries nothing again, so what a broker does not know yet would be lost.
    warmed = _produce(golden, "verified", "".join("warm\n" for _ in range(2)))
    assert warmed.exit == 0
    server = _server(golden)
    options = f"--broker-list {server} --topic verified --max-messages 20 --repeating-keys 3"
    sent = run_tool("kafka-verifiable-producer", options.split())
    assert '"sent":20,"acked":20' in sent.stdout, sent.stdout
    options = f"--bootstrap-server {server} --topic verified --group-id v --max-messages 22"
    found = run_tool("kafka-verifiable-consumer", [*options.split(), "--verbose"])
    events = [json.loads(line) for line in found.stdout.splitlines()]
    names = [event["name"] for event in events]
    assert (names[0], names[-1]) == ("startup_complete", "shutdown_complete")
    values = {event["value"] for event in events if event["name"] == "record_data"}
    assert values == {"warm", *(str(number) for number in range(20))}
    committed = [event for event in events if event["name"] == "offsets_committed"]
    assert all(event["success"] for event in committed)


def test_perf_tests_count_what_they_sent_and_read(golden: GoldenCluster) -> None:
    golden.create("fast", [[1, 2], [2, 3], [3, 1]])
    server = _server(golden)
    props = f"--producer-props bootstrap.servers={server} acks=all"
    options = f"--topic fast --num-records 1000 --record-size 100 --throughput -1 {props}"
    sent = run_tool("kafka-producer-perf-test", options.split())
    assert sent.exit == 0
    assert sent.stdout.startswith("1000 records sent, ")
    assert sent.stdout.endswith(" ms 99.9th.\n")
    options = f"--bootstrap-server {server} --topic fast --messages 1000 --output json"
    read = run_tool("kafka-consumer-perf-test", options.split())
    assert json.loads(read.stdout)["records"] == 1000
    options = f"--bootstrap-server {server} --topic fast --messages 1000 --hide-header"
    columns = run_tool("kafka-consumer-perf-test", options.split()).stdout.split(", ")
    assert len(columns) == 10
    assert columns[4] == "1000"


def test_replicas_are_compared(golden: GoldenCluster) -> None:
    options = f"--broker-list {_server(golden)} --topic-white-list fast --time -2 --once"
    found = run_tool("kafka-replica-verification", options.split())
    assert found.exit == 0
    assert found.stdout.endswith(": verification process is started.\n")


def test_topic_and_group_are_explained_in_words(golden: GoldenCluster) -> None:
    """More of this in `test_explain.py`; here only that it works on a healthy cluster."""
    golden.create("explained", [[1, 2]])
    options = ["--bootstrap-server", _server(golden)]
    golden.cluster.wait_until_in_sync("explained")
    said = _kafkalike("explain", "topic", "explained", *options)
    assert "Broker 1 leads, since leader epoch 0" in said
    assert said.endswith("Nothing is the matter.\n")
    _produce(golden, "explained", "one\n")
    _consume(golden, "explained", "--max-messages", "1", "--group", "explained")
    said = _kafkalike("explain", "group", "explained", *options)
    assert "with 1 member: " in said
    assert "It has read, and committed, everything." in said


def _kafkalike(*arguments: str) -> str:
    done = subprocess.run([*KAFKALIKE, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout
