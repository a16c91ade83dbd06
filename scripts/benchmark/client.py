"""The client side, a process of its own: `python -m scripts.benchmark.client KIND JSON`.

Prints "ready" when connected, waits for a line on stdin, works, and prints its figures as JSON.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from scripts.benchmark.librdkafka import Consumer, Producer

_BATCH = 1000
_DEADLINE_S = 180.0

Arguments = dict[str, Any]  # what the parent sent as JSON
Figures = dict[str, Any]  # what goes back as JSON


def produce(arguments: Arguments) -> Figures:
    """Send `records` records over all partitions as fast as the broker takes them."""
    partitions, records = arguments["partitions"], arguments["records"]
    # 10 kB of noise repeated: nothing here is compressed, but nobody shall profit from zeros.
    payload = (os.urandom(10_000) * 11)[: arguments["record_bytes"]]
    settings = {
        "bootstrap.servers": arguments["bootstrap"],
        "acks": arguments["acks"],
        "linger.ms": 5,
        "batch.num.messages": arguments["batch_records"],
        "queue.buffering.max.messages": 1_000_000,
        "queue.buffering.max.kbytes": 1 << 20,
    }
    producer = Producer(arguments["topic"], settings, payload, _BATCH)
    producer.until_known(partitions)
    before = sum(map(producer.end_offset, range(partitions)))
    _ready()
    started = time.perf_counter()
    sent = turn = 0
    while sent < records:
        accepted = producer.produce(turn % partitions, min(_BATCH, records - sent))
        sent += accepted
        turn += 1
        if accepted < _BATCH:
            _in_time(started)
            producer.poll()
            time.sleep(0.001)
    producer.flush(_DEADLINE_S)
    elapsed_s = time.perf_counter() - started
    # The proof that all arrived; with acks=0 also the only way to know when.
    while (arrived := sum(map(producer.end_offset, range(partitions))) - before) < records:
        _in_time(started)
    if arguments["acks"] == "0":
        elapsed_s = time.perf_counter() - started
    assert arrived == records, f"{arrived} of {records} records in the log"
    return {"elapsed_s": elapsed_s, "records": records, "bytes": records * len(payload)}


def consume(arguments: Arguments) -> Figures:
    """Read `records` records from the beginning of all partitions."""
    settings = {
        "bootstrap.servers": arguments["bootstrap"],
        "queued.min.messages": 1_000_000,
        "fetch.queue.backoff.ms": 10,
    }
    consumer = Consumer(arguments["topic"], settings, 10_000)
    consumer.until_known(arguments["partitions"])
    _ready()
    started = time.perf_counter()
    for partition in range(arguments["partitions"]):
        consumer.start(partition)
    records = size = 0
    while records < arguments["records"]:
        _in_time(started)
        count, record_bytes = consumer.consume(100)
        records += count
        size += count * record_bytes
    return {"elapsed_s": time.perf_counter() - started, "records": records, "bytes": size}


def latency_send(arguments: Arguments) -> Figures:
    """Send records at a steady rate, each with the time it was handed to the producer."""
    settings = {
        "bootstrap.servers": arguments["bootstrap"],
        "acks": arguments["acks"],
        "linger.ms": 0,
    }
    payload = bytes(arguments["record_bytes"])
    producer = Producer(arguments["topic"], settings, payload, 1)
    producer.until_known(arguments["partitions"])
    _ready()
    started = time.perf_counter()
    for number in range(arguments["records"]):
        pause_s = started + number / arguments["rate"] - time.perf_counter()
        if pause_s > 0:
            time.sleep(pause_s)
        producer.produce_stamped(number % arguments["partitions"], time.monotonic_ns())
        producer.poll()
    producer.flush(30)
    return {"elapsed_s": time.perf_counter() - started}


def latency_receive(arguments: Arguments) -> Figures:
    """Receive what `latency_send` sends and return how old each record was, in ms, sorted."""
    consumer = Consumer(arguments["topic"], {"bootstrap.servers": arguments["bootstrap"]}, 1)
    consumer.until_known(arguments["partitions"])
    for partition in range(arguments["partitions"]):
        consumer.start(partition)
    _ready()
    started = time.perf_counter()
    ages_ms: list[float] = []
    while len(ages_ms) < arguments["records"]:
        stamp = consumer.consume_stamp(100)
        if stamp is not None:
            ages_ms.append((time.monotonic_ns() - stamp) / 1e6)
        _in_time(started)
    # The first moments hold connections and first fetches: they are no steady state.
    return {"ages_ms": sorted(ages_ms[len(ages_ms) // 10 :])}


def _ready() -> None:
    print("ready", flush=True)
    sys.stdin.readline()


def _in_time(started: float) -> None:
    if time.perf_counter() - started > _DEADLINE_S:
        raise TimeoutError(f"not done after {_DEADLINE_S:g} s")


KINDS: dict[str, Callable[[Arguments], Figures]] = {
    kind.__name__: kind for kind in (produce, consume, latency_send, latency_receive)
}

if __name__ == "__main__":
    print(json.dumps(KINDS[sys.argv[1]](json.loads(sys.argv[2]))), flush=True)
    os._exit(0)  # librdkafka's threads are not waited for
