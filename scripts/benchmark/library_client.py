"""A client library at work, in a process of its own: `… library_client LIBRARY KIND JSON`.

Written as a user would write it, with each library's own defaults except for acks and linger.
Prints "ready" when connected, waits for a line on stdin, works, and prints its figures as JSON.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

_LINGER_MS = 5
_POLL_MS = 1_000
_POLL_RECORDS = 500
_DEADLINE_S = 180.0

Arguments = dict[str, Any]  # what the parent sent as JSON
Figures = dict[str, Any]  # what goes back as JSON
Send = Callable[[bytes], Any]
Finish = Callable[[], Any]


def kafkalike_producer(arguments: Arguments) -> tuple[Send, Finish]:
    """Return how to send a value, and how to wait for all."""
    from kafkalike.client import KafkaProducer

    return _python_producer(KafkaProducer, arguments)


def kafka_python_producer(arguments: Arguments) -> tuple[Send, Finish]:
    """Return how to send a value, and how to wait for all."""
    from kafka import KafkaProducer

    return _python_producer(KafkaProducer, arguments)


def _python_producer(kind: Any, arguments: Arguments) -> tuple[Send, Finish]:
    producer = kind(bootstrap_servers=arguments["bootstrap"], acks=1, linger_ms=_LINGER_MS)
    topic = arguments["topic"]
    producer.partitions_for(topic)
    send = producer.send
    return lambda value: send(topic, value), producer.flush


def confluent_producer(arguments: Arguments) -> tuple[Send, Finish]:
    """Return how to send a value, and how to wait for all."""
    from confluent_kafka import Producer

    producer = Producer(
        {"bootstrap.servers": arguments["bootstrap"], "acks": "1", "linger.ms": _LINGER_MS}
    )
    topic = arguments["topic"]
    producer.list_topics(topic)
    produce = producer.produce

    def send(value: bytes) -> None:
        while True:
            try:
                produce(topic, value)
            except BufferError:
                producer.poll(0.01)
            else:
                return

    return send, lambda: producer.flush(_DEADLINE_S)


def kafkalike_values(arguments: Arguments) -> Iterator[int]:
    """Yield how many bytes of values each poll brought."""
    from kafkalike.client import KafkaConsumer, TopicPartition

    return _python_values(KafkaConsumer, TopicPartition, arguments)


def kafka_python_values(arguments: Arguments) -> Iterator[int]:
    """Yield how many bytes of values each poll brought."""
    from kafka import KafkaConsumer, TopicPartition

    return _python_values(KafkaConsumer, TopicPartition, arguments)


def _python_values(kind: Any, partition: Any, arguments: Arguments) -> Iterator[int]:
    consumer = kind(bootstrap_servers=arguments["bootstrap"], auto_offset_reset="earliest")
    topic = arguments["topic"]
    consumer.partitions_for_topic(topic)
    yield 0
    consumer.assign([partition(topic, number) for number in range(arguments["partitions"])])
    while True:
        polled = consumer.poll(_POLL_MS, max_records=_POLL_RECORDS)
        yield sum(len(record.value) for records in polled.values() for record in records)


def confluent_values(arguments: Arguments) -> Iterator[int]:
    """Yield how many bytes of values each poll brought."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": arguments["bootstrap"], "group.id": "bench"})
    topic = arguments["topic"]
    consumer.list_topics(topic)
    yield 0
    consumer.assign(
        [TopicPartition(topic, n, OFFSET_BEGINNING) for n in range(arguments["partitions"])]
    )
    while True:
        messages = consumer.consume(_POLL_RECORDS, _POLL_MS / 1000)
        yield sum(len(message.value()) for message in messages if not message.error())


def produce(library: str, arguments: Arguments) -> Figures:
    """Send `records` values one by one, as fast as the library takes them."""
    value = os.urandom(arguments["record_bytes"])
    send, finish = _PRODUCERS[library](arguments)
    _ready()
    started, cpu_started = time.perf_counter(), time.process_time()
    for _ in range(arguments["records"]):
        send(value)
    finish()
    return _figures(arguments["records"], started, cpu_started)


def consume(library: str, arguments: Arguments) -> Figures:
    """Read `records` values and look at the size of each."""
    wanted = arguments["records"] * arguments["record_bytes"]
    sizes = _CONSUMERS[library](arguments)
    found = next(sizes)
    _ready()
    started, cpu_started = time.perf_counter(), time.process_time()
    while found < wanted:
        found += next(sizes)
        if time.perf_counter() - started > _DEADLINE_S:
            raise TimeoutError(f"{found} of {wanted} bytes after {_DEADLINE_S:g} s")
    return _figures(arguments["records"], started, cpu_started)


def _figures(records: int, started: float, cpu_started: float) -> Figures:
    cpu_s = time.process_time() - cpu_started
    elapsed_s = time.perf_counter() - started
    return {"records_per_s": records / elapsed_s, "records_per_cpu_s": records / cpu_s}


def _ready() -> None:
    print("ready", flush=True)
    sys.stdin.readline()


_PRODUCERS: dict[str, Callable[[Arguments], tuple[Send, Finish]]] = {
    "kafkalike": kafkalike_producer,
    "kafka-python": kafka_python_producer,
    "confluent-kafka": confluent_producer,
}
_CONSUMERS: dict[str, Callable[[Arguments], Iterator[int]]] = {
    "kafkalike": kafkalike_values,
    "kafka-python": kafka_python_values,
    "confluent-kafka": confluent_values,
}
LIBRARIES = tuple(_PRODUCERS)
_KINDS = {"produce": produce, "consume": consume}

if __name__ == "__main__":
    figures = _KINDS[sys.argv[2]](sys.argv[1], json.loads(sys.argv[3]))
    print(json.dumps(figures), flush=True)
    os._exit(0)  # the figures are out: how quickly a library closes is not measured
