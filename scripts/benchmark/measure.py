"""Run one scenario against one target: clients in processes of their own, the broker watched."""

import json
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from confluent_kafka.admin import AdminClient, NewTopic

from scripts.benchmark.scenarios import RATE_PER_S, Scenario
from scripts.benchmark.targets import Target
from tests.support.process import cpu_seconds, process_tree, rss_bytes

_GB = 1e9
_CLIENT_TIMEOUT_S = 240
_BIG_BATCH_RECORDS = 10_000

# label -> metric -> value
Figures = dict[str, dict[str, float]]


class Watch:
    """CPU seconds of all brokers and peak RSS of the largest one, from entry to exit."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = pids
        self._done = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self.cpu_s = 0.0
        self.rss_bytes = 0

    def __enter__(self) -> Self:
        self.cpu_s = -self._cpu_seconds()
        self._sampler.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cpu_s += self._cpu_seconds()
        self._done.set()
        self._sampler.join()

    def _sample(self) -> None:
        while True:
            self.rss_bytes = max(self.rss_bytes, *map(_rss_of_broker, self._pids))
            if self._done.wait(0.1):
                return

    def _cpu_seconds(self) -> float:
        return sum(map(cpu_seconds, self._pids))


def _rss_of_broker(pid: int) -> int:
    return sum(map(rss_bytes, process_tree(pid)))


class Client:
    """One client process; it is connected when the constructor returns and works after `go`."""

    def __init__(self, kind: str, arguments: Mapping[str, object]) -> None:
        self._kind = kind
        self._process = subprocess.Popen(
            [sys.executable, "-m", "scripts.benchmark.client", kind, json.dumps(arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "ready\n":
            raise RuntimeError(f"the {kind} client did not start")

    def go(self) -> None:
        """Let the work begin."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def figures(self) -> dict[str, Any]:
        """Wait for the end and return what the client measured."""
        try:
            output, _ = self._process.communicate(timeout=_CLIENT_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise
        if self._process.returncode != 0:
            raise RuntimeError(f"the {self._kind} client failed: {output}")
        return dict(json.loads(output))


def rss_mb(target: Target) -> float:
    """Return the resident memory of the largest broker now, in MB."""
    return max(map(_rss_of_broker, target.pids)) / 1e6


def measure(target: Target, scenario: Scenario, topic: str) -> Figures:
    """Create a topic, run the scenario on it and delete it."""
    admin = AdminClient({"bootstrap.servers": target.bootstrap_servers})
    for future in admin.create_topics(
        [NewTopic(topic, scenario.partitions, len(target.pids))]
    ).values():
        future.result(30)
    arguments = {
        "bootstrap": target.bootstrap_servers,
        "topic": topic,
        "partitions": scenario.partitions,
        "records": scenario.records,
        "record_bytes": scenario.record_bytes,
        "acks": scenario.acks,
        "batch_records": 1 if scenario.kind == "requests" else _BIG_BATCH_RECORDS,
        "rate": RATE_PER_S,
    }
    if scenario.kind == "latency":
        result = {scenario.label: _latency(target, arguments)}
    else:
        result = {scenario.label: _throughput(target, "produce", arguments)}
        if scenario.is_consumed:
            result[scenario.consume_label] = _throughput(target, "consume", arguments)
        if scenario.kind == "requests":
            result = {scenario.label: _per_request(result[scenario.label], scenario.records)}
    for future in admin.delete_topics([topic]).values():
        future.result(30)
    return result


def _throughput(target: Target, kind: str, arguments: Mapping[str, object]) -> dict[str, float]:
    client = Client(kind, arguments)
    with Watch(target.pids) as watch:
        client.go()
        done = client.figures()
    return {
        "records_per_s": done["records"] / done["elapsed_s"],
        "mb_per_s": done["bytes"] / done["elapsed_s"] / 1e6,
        "cpu_s": watch.cpu_s,
        "cpu_s_per_gb": watch.cpu_s / (done["bytes"] / _GB),
        "rss_mb": watch.rss_bytes / 1e6,
    }


def _per_request(figures: dict[str, float], requests: int) -> dict[str, float]:
    """One record a request: records are requests."""
    return {
        "requests_per_s": figures["records_per_s"],
        "cpu_s_per_1000_requests": figures["cpu_s"] * 1000 / requests,
        "rss_mb": figures["rss_mb"],
    }


def _latency(target: Target, arguments: Mapping[str, object]) -> dict[str, float]:
    receiver, sender = Client("latency_receive", arguments), Client("latency_send", arguments)
    with Watch(target.pids) as watch:
        receiver.go()
        sender.go()
        sender.figures()
        ages_ms = receiver.figures()["ages_ms"]
    quantiles = {"p50_ms": 0.5, "p99_ms": 0.99, "p999_ms": 0.999}
    return {
        name: ages_ms[min(int(len(ages_ms) * share), len(ages_ms) - 1)]
        for name, share in quantiles.items()
    } | {"cpu_s": watch.cpu_s, "rss_mb": watch.rss_bytes / 1e6}
