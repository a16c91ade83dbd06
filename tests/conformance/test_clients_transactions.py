"""Idempotent and transactional producers of real clients, against ours and Apache Kafka."""

import json
import re
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import KafkaException, Producer

from kafkalike.client.simple_client import SimpleClient
from tests.support import wire
from tests.support.apache_kafka import ToolResult
from tests.support.broker import Broker
from tests.support.clients.copying import TransactionalCopier, read_values
from tests.support.clients.idempotent import IDEMPOTENT_NAMES, write_idempotently
from tests.support.clients.transactional import NAMES, Writer
from tests.support.target import Target, unique_topic
from tests.support.waiting import wait_until
from tests.support.wire_transactions import committed_values, log_of

ONE_BROKER = {
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "0",
}
COPIER = "org.apache.kafka.tools.TransactionalMessageCopier"
CONSOLE_CONSUMER = "kafka.tools.ConsoleConsumer"
FORMATTER = "kafka.coordinator.transaction.TransactionLog$TransactionLogMessageFormatter"


@pytest.fixture(scope="module")
def broker(broker_factory: Callable[..., Broker]) -> Broker:
    return broker_factory(properties=ONE_BROKER)


@pytest.fixture(scope="module")
def client(target: Target) -> Iterator[SimpleClient]:
    with target.connect() as connection:
        yield connection


@pytest.fixture
def topic(client: SimpleClient) -> str:
    return wire.create_topic(client, "transactional")


@pytest.mark.parametrize("name", IDEMPOTENT_NAMES)
def test_idempotent_producer_writes_everything_once(
    target: Target, client: SimpleClient, topic: str, name: str
) -> None:
    values = [b"%d" % number for number in range(200)]
    write_idempotently(name, target.bootstrap_servers, topic, values)
    assert [record.value for record in wire.read_all(client, topic)] == values


@pytest.mark.parametrize("name", NAMES)
def test_only_committed_transactions_are_read(
    target: Target, client: SimpleClient, topic: str, name: str
) -> None:
    with Writer(name, target.bootstrap_servers, unique_topic("txn")) as writer:
        writer.run(topic, [b"a", b"b"])
        writer.run(topic, [b"aborted"], is_commit=False)
        writer.run(topic, [b"c"])
    wait_until(lambda: log_of(client, topic).count("COMMIT") == 2, 10, "the last marker")
    assert read_values(target.bootstrap_servers, topic, 3) == [b"a", b"b", b"c"]
    everything = read_values(target.bootstrap_servers, topic, 4, isolation="read_uncommitted")
    assert everything == [b"a", b"b", b"aborted", b"c"]


@pytest.mark.parametrize("name", NAMES)
def test_second_producer_with_the_same_id_fences_the_first(
    target: Target, client: SimpleClient, topic: str, name: str
) -> None:
    transactional_id = unique_topic("fenced")
    with Writer(name, target.bootstrap_servers, transactional_id) as second:
        first = Producer(
            {"bootstrap.servers": target.bootstrap_servers, "transactional.id": transactional_id}
        )
        first.init_transactions(30)
        first.begin_transaction()
        first.produce(topic, b"of the first")
        assert first.flush(30) == 0
        with Writer(name, target.bootstrap_servers, transactional_id) as third:
            third.run(topic, [b"of the third"])
            with pytest.raises(KafkaException) as fenced:
                first.commit_transaction(30)
            assert fenced.value.args[0].fatal()
            with pytest.raises(Exception):  # noqa: B017, PT011 (each library has its own)
                second.run(topic, [b"of the second"])
    wait_until(lambda: log_of(client, topic)[-1] == "COMMIT", 10, "the marker")
    assert committed_values(client, topic) == ["of the third"]


def test_copy_has_every_record_once(target: Target, client: SimpleClient) -> None:
    """Consume-transform-produce with librdkafka; every third transaction is aborted at first."""
    source = wire.create_topic(client, "copied", partitions=2)
    copy = wire.create_topic(client, "copy", partitions=2)
    for number in range(100):
        wire.append(client, source, b"%d" % number, partition=number % 2)
    copier = TransactionalCopier(
        target.bootstrap_servers, source, copy, transactional_id=copy, group=copy
    )

    def copied() -> list[str]:
        return [
            value for partition in (0, 1) for value in committed_values(client, copy, partition)
        ]

    copier.copy(lambda: len(copied()) >= 100, aborts_every=3)
    copier.close()
    assert copied() == [str(n) for first in (0, 1) for n in range(first, 100, 2)]
    assert copier.aborts > 0


@pytest.mark.kafka
@pytest.mark.parametrize(
    "options", [[], ["--enable-random-aborts"], ["--group-mode", "--use-group-metadata"]]
)
def test_javas_transactional_message_copier_copies(
    target: Target,
    client: SimpleClient,
    apache_kafka_tools: Callable[..., ToolResult],
    options: list[str],
) -> None:
    source = wire.create_topic(client, "java-source")
    copy = wire.create_topic(client, "java-copy")
    values = [b"%d" % number for number in range(500)]
    for first in range(0, 500, 100):
        wire.append(client, source, *values[first : first + 100])
    done = apache_kafka_tools(
        COPIER,
        *("--broker-list", target.bootstrap_servers),
        *("--input-topic", source, "--input-partition", "0", "--output-topic", copy),
        *("--consumer-group", unique_topic("java-group"), "--transactional-id", copy),
        *("--transaction-size", "50", "--max-messages", "500"),
        *options,
        timeout=120,
    )
    assert done.exit_code == 0, done.stdout + done.stderr
    report = json.loads(done.stdout.strip().splitlines()[-1])
    assert report["consumed"] == 500, done.stdout
    assert read_values(target.bootstrap_servers, copy, 500) == values


@pytest.mark.kafka
def test_javas_formatter_reads_the_transaction_log(
    target: Target, client: SimpleClient, topic: str, apache_kafka_tools: Callable[..., ToolResult]
) -> None:
    transactional_id = unique_topic("formatted")
    with Writer("confluent-kafka", target.bootstrap_servers, transactional_id) as writer:
        writer.run(topic, [b"a"])
    wait_until(lambda: log_of(client, topic)[-1] == "COMMIT", 10, "the marker")

    def formatted() -> list[str]:
        done = apache_kafka_tools(
            CONSOLE_CONSUMER,
            *("--bootstrap-server", target.bootstrap_servers, "--topic", "__transaction_state"),
            *("--from-beginning", "--formatter", FORMATTER, "--timeout-ms", "5000"),
            *("--consumer-property", "exclude.internal.topics=false"),
        )
        return [line for line in done.stdout.splitlines() if line.startswith(transactional_id)]

    # On a busy machine it may give up before it has read anything.
    lines = wait_until(formatted, 120, "anything read")
    states = [re.search(r"state=(\w+)", line)[1] for line in lines]  # type: ignore[index]
    assert states == ["Empty", "Ongoing", "PrepareCommit", "CompleteCommit"]
    assert f"topicPartitions=Set({topic}-0)" in lines[1].replace("HashSet", "Set")
