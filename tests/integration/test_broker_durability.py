"""What a broker was given it still has after a crash, and where it keeps it."""

import hashlib
import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.error_code import ErrorCode
from tests.support import wire
from tests.support.broker import Broker
from tests.support.new_broker import NewBroker, connect_to, wait_until_led

pytestmark = pytest.mark.ensemble

PARTITIONS = 3
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"


def _partition_dir(broker: Broker, topic: str, partition: int = 0) -> Path:
    return broker.log_dir / f"{topic}-{partition}"


@pytest.mark.parametrize("is_crash", [True, False], ids=["kill -9", "SIGTERM"])
def test_records_survive_a_restart(new_broker: NewBroker, is_crash: bool) -> None:
    """M1: produce, kill -9, restart, consume; and the same with a stop in order."""
    broker = new_broker()
    values = [b"record %d" % number for number in range(1000)]
    with connect_to(broker) as client:
        topic = wire.create_topic(client)
        for start in range(0, 1000, 10):
            wire.append(client, topic, *values[start : start + 10])
    if is_crash:
        broker.kill()
    else:
        assert broker.terminate() == 0
    assert (broker.log_dir / CLEAN_SHUTDOWN).exists() is not is_crash
    broker.start()
    wait_until_led(broker, topic)
    assert not (broker.log_dir / CLEAN_SHUTDOWN).exists()
    with connect_to(broker) as client:
        records = wire.read_all(client, topic)
        assert [record.value for record in records] == values
        assert [record.offset for record in records] == list(range(1000))
        assert wire.append(client, topic, b"the next one") == 1000


def test_every_replica_has_a_directory(new_broker: NewBroker) -> None:
    """M2: `<topic>-<partition>` below log.dirs, with the files that Kafka has there."""
    broker = new_broker()
    with connect_to(broker) as client:
        topic = wire.create_topic(client, partitions=PARTITIONS)
        for partition in range(PARTITIONS):
            wire.append(client, topic, b"value", partition=partition)
    found = {path.name for path in broker.log_dir.iterdir() if path.is_dir()}
    assert found == {f"{topic}-{partition}" for partition in range(PARTITIONS)}
    for partition in range(PARTITIONS):
        assert {path.name for path in _partition_dir(broker, topic, partition).iterdir()} == {
            "00000000000000000000.log",
            "00000000000000000000.index",
            "00000000000000000000.timeindex",
            "leader-epoch-checkpoint",
            "partition.metadata",
        }
    broker.terminate()
    assert {
        "meta.properties",
        "log-start-offset-checkpoint",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
        CLEAN_SHUTDOWN,
    } <= {path.name for path in broker.log_dir.iterdir()}


@pytest.mark.kafka
@pytest.mark.parametrize("is_crash", [True, False], ids=["kill -9", "SIGTERM"])
def test_kafkas_own_tool_reads_what_a_broker_left(
    new_broker: NewBroker, apache_kafka_tools: Callable[..., object], is_crash: bool
) -> None:
    """M3, M4, M5: DumpLogSegments accepts what a stopped broker left on its disk."""
    broker = new_broker(
        properties={"log.segment.bytes": "20000", "log.index.interval.bytes": "500"}
    )
    with connect_to(broker) as client:
        topic = wire.create_topic(client)
        for number in range(300):
            wire.append(client, topic, b"record %d " % number * 20)
    if is_crash:
        broker.kill()
        broker.start()  # The recovery mends what the crash left half done.
    broker.terminate()
    files = sorted(_partition_dir(broker, topic).glob("*.log"))
    assert len(files) > 1
    dump = ("kafka.tools.DumpLogSegments", "--files")
    indexes = [str(file.with_suffix(kind)) for file in files for kind in (".index", ".timeindex")]
    read = apache_kafka_tools(*dump, ",".join(map(str, files)), "--deep-iteration")
    assert read.exit_code == 0, read.stderr
    assert read.stdout.count("payload") == 0
    assert sum(line.startswith("| offset") for line in read.stdout.splitlines()) == 300
    assert "isvalid: false" not in read.stdout
    sane = apache_kafka_tools(*dump, ",".join([*indexes, *map(str, files)]), "--index-sanity-check")
    assert sane.exit_code == 0, sane.stderr
    assert sane.stdout.count("passed sanity check.") == len(files) * 2
    verified = apache_kafka_tools(*dump, ",".join(indexes), "--verify-index-only")
    for problem in ("Mismatches", "Out of order", "not found"):
        assert problem not in verified.stdout


class Load:
    """Requests on several connections, many of them unanswered when the broker dies."""

    def __init__(self, broker: Broker, topic: str, chance: random.Random) -> None:
        self._broker = broker
        self._topic = topic
        self._chance = chance
        self.sent = [0] * PARTITIONS
        # partition -> (offset, value) of what was acknowledged
        self.acknowledged: list[dict[int, bytes]] = [{} for _ in range(PARTITIONS)]

    def run_until_kill(self) -> None:
        """Send to all partitions, take some of the answers, and kill the broker in between."""
        clients = [connect_to(self._broker) for _ in range(PARTITIONS)]
        waiting: list[list[tuple[int, list[bytes]]]] = [[] for _ in clients]
        try:
            for partition, client in enumerate(clients):
                for _ in range(self._chance.randrange(5, 60)):
                    waiting[partition].append(self._send(client, partition))
            for partition, client in enumerate(clients):
                for _ in range(self._chance.randrange(len(waiting[partition]))):
                    self._take_answer(client, partition, waiting[partition].pop(0))
            self._broker.kill()
        finally:
            for client in clients:
                client.close()

    def _send(self, client: SimpleClient, partition: int) -> tuple[int, list[bytes]]:
        values = []
        for _ in range(self._chance.randrange(1, 20)):
            padding = self._chance.randbytes(self._chance.randrange(300))
            values.append(struct.pack(">q", self.sent[partition]) + padding)
            self.sent[partition] += 1
        request = wire.produce_request(self._topic, wire.batch(*values), partition=partition)
        return client.send_only(request), values

    def _take_answer(
        self, client: SimpleClient, partition: int, sent: tuple[int, list[bytes]]
    ) -> None:
        correlation_id, values = sent
        answer = client.receive(ApiKey.PRODUCE, 9, correlation_id)
        ((of_partition,),) = (topic.partition_responses for topic in answer.responses)
        assert of_partition.error_code == ErrorCode.NONE
        for offset, value in enumerate(values, of_partition.base_offset):
            self.acknowledged[partition][offset] = value


@pytest.mark.parametrize("flush_every", [1, None], ids=["every batch is flushed", "default flush"])
def test_kill_in_the_middle_of_a_load_loses_nothing_acknowledged(
    new_broker: NewBroker, flush_every: int | None
) -> None:
    """M1, M7, M17, M54: at random points; it always restarts, and offsets stay dense, in order."""
    properties = {"log.segment.bytes": "50000", "log.index.interval.bytes": "1000"}
    if flush_every is not None:
        properties["log.flush.interval.messages"] = str(flush_every)
    broker = new_broker(properties=properties)
    with connect_to(broker) as client:
        topic = wire.create_topic(client, partitions=PARTITIONS)
    load = Load(broker, topic, random.Random(20_8 + (flush_every or 0)))
    for _ in range(6):
        load.run_until_kill()
        broker.start()
        wait_until_led(broker, topic, PARTITIONS)
    with connect_to(broker) as client:
        for partition in range(PARTITIONS):
            _check_partition(client, topic, partition, load)


def _check_partition(client: SimpleClient, topic: str, partition: int, load: Load) -> None:
    records = wire.read_all(client, topic, partition=partition)
    assert [record.offset for record in records] == list(range(len(records)))
    kept = {record.offset: record.value for record in records}
    acknowledged = load.acknowledged[partition]
    assert acknowledged, "some were acknowledged before the kills"
    assert acknowledged.items() <= kept.items()
    numbers = [struct.unpack_from(">q", record.value or b"")[0] for record in records]
    assert numbers == sorted(set(numbers)), "in order, and none twice"


def test_torn_tail_is_cut_off(new_broker: NewBroker) -> None:
    """M7: a batch of which the disk has only the first half was never acknowledged."""
    broker = new_broker()
    with connect_to(broker) as client:
        topic = wire.create_topic(client)
        wire.append(client, topic, b"one", b"two")
    broker.kill()
    log = _partition_dir(broker, topic) / "00000000000000000000.log"
    size = log.stat().st_size
    with log.open("ab") as file:
        file.write(wire.batch(b"torn" * 100, base_offset=2)[:200])
    broker.start()
    wait_until_led(broker, topic)
    assert log.stat().st_size == size
    with connect_to(broker) as client:
        assert wire.append(client, topic, b"three") == 2
        values = [record.value for record in wire.read_all(client, topic)]
    assert values == [b"one", b"two", b"three"]


def test_closed_segments_never_change(new_broker: NewBroker) -> None:
    """M6: what is written is only ever appended to, by nobody and nothing edited."""
    broker = new_broker(properties={"log.segment.bytes": "10000"})

    def digests() -> dict[str, str]:
        closed = sorted(_partition_dir(broker, topic).glob("*.log"))[:-1]
        return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in closed}

    with connect_to(broker) as client:
        topic = wire.create_topic(client)
        for number in range(100):
            wire.append(client, topic, b"%d" % number * 300)
        before = digests()
        assert len(before) > 2
        for number in range(100):
            wire.append(client, topic, b"%d" % number * 300)
    broker.kill()
    broker.start()
    wait_until_led(broker, topic)
    assert before.items() <= digests().items()
