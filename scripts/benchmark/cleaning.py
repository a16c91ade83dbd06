"""Compaction under load: what others notice of it, and how long it takes.

A compacted topic is filled while nothing may clean it. Records of another topic are timed first so,
and then while the cleaner is at work.
"""

import threading
import time
from random import Random

from confluent_kafka import Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from scripts.benchmark.measure import Figures, measure
from scripts.benchmark.scenarios import Scenario
from scripts.benchmark.targets import Target

_RATIO = "min.cleanable.dirty.ratio"
_KEYS = 20_000
_VALUE_BYTES = 100
_SEGMENT_BYTES = 8 << 20
_DEADLINE_S = 180.0


def measure_cleaning(target: Target, name: str, *, is_quick: bool) -> Figures:
    """Time records without and with a cleaning."""
    records = 200_000 if is_quick else 600_000
    timed = Scenario(kind="latency", record_bytes=100, acks="1", partitions=1, records=10_000)
    admin = AdminClient({"bootstrap.servers": target.bootstrap_servers})
    compacted = f"{name}-compacted"
    _create(admin, compacted)
    _fill(target, compacted, records)
    (quiet,) = measure(target, timed, f"{name}-quiet").values()
    with _Cleaning(target, admin, compacted) as cleaning:
        (busy,) = measure(target, timed, f"{name}-busy").values()
    for future in admin.delete_topics([compacted]).values():
        future.result(30)
    return {
        "latency, nothing is cleaned": quiet,
        f"latency, {records:,} records are cleaned": {**busy, "cleaned_s": cleaning.seconds},
    }


def _create(admin: AdminClient, topic: str) -> None:
    config = {
        "cleanup.policy": "compact",
        "segment.bytes": str(_SEGMENT_BYTES),
        _RATIO: "1.0",  # nothing is dirtier than that
    }
    admin.create_topics([NewTopic(topic, 1, 1, config=config)])[topic].result(30)


def _fill(target: Target, topic: str, records: int) -> None:
    random = Random(1)
    producer = Producer({"bootstrap.servers": target.bootstrap_servers, "linger.ms": 5})
    for _ in range(records):
        key = b"%d" % random.randrange(_KEYS)
        while True:
            try:
                producer.produce(topic, random.randbytes(_VALUE_BYTES), key)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(60) == 0, f"{topic} could not be filled"


class _Cleaning:
    """Lets the cleaner have a topic, and sees when it has done it."""

    def __init__(self, target: Target, admin: AdminClient, topic: str) -> None:
        self._address = target.bootstrap_servers.split(",")[0].rpartition(":")
        self._admin = admin
        self._topic = topic
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._started = 0.0
        self.seconds = float("nan")

    def __enter__(self) -> "_Cleaning":
        entry = ConfigEntry(_RATIO, "0.0", incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, self._topic, incremental_configs=[entry])
        for future in self._admin.incremental_alter_configs([resource]).values():
            future.result(30)
        self._started = time.perf_counter()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(_DEADLINE_S)

    def _watch(self) -> None:
        """Wait until the log is less than half as large."""
        host, _, port = self._address
        with SimpleClient(host, int(port)) as client:
            before = self._size(client)
            while time.perf_counter() - self._started < _DEADLINE_S:
                if self._size(client) < before / 2:
                    self.seconds = time.perf_counter() - self._started
                    return
                time.sleep(0.25)

    def _size(self, client: SimpleClient) -> int:
        return sum(
            partition.partition_size
            for log_dir in client.send(DescribeLogDirsRequest(topics=None)).results
            for topic in log_dir.topics
            if topic.name == self._topic
            for partition in topic.partitions
        )
