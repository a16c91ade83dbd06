"""The work of `kafka-producer-perf-test`: send records, note when each is acknowledged."""

import sys
from argparse import Namespace
from pathlib import Path
from random import Random
from typing import Any, Final

from kafkalike.cli.tools.client_log import warnings_shown
from kafkalike.cli.tools.producer_perf_stats import ProducerStats, summary_line
from kafkalike.cli.tools.support.client import client_arguments
from kafkalike.cli.tools.support.errors import IllegalArgumentError
from kafkalike.cli.tools.support.java_names import java_text
from kafkalike.cli.tools.support.listing import print_json
from kafkalike.cli.tools.support.progress import Progress
from kafkalike.cli.tools.support.throttler import Throttler
from kafkalike.cli.tools.support.tool import print_line
from kafkalike.cli.tools.support.wall_clock import now_ms
from kafkalike.client.blocking_producer import KafkaProducer
from kafkalike.client.producer.producer_config import ProducerConfig
from kafkalike.client.producer.record_metadata import RecordMetadata

_RECORDS_PER_UPDATE: Final = 1000


class Run:
    """One test, from the first record to the report."""

    def __init__(self, parsed: Namespace, settings: dict[str, str]) -> None:
        self._parsed = parsed
        self._payloads = _payloads(parsed)
        self._random = Random(0)  # each test sends the same
        self._settings = client_arguments(ProducerConfig, settings)
        self._stats = ProducerStats(parsed.num_records, now_ms())

    def run(self) -> int:
        """Send everything, wait for all answers, report."""
        client_id = str(self._settings.get("client_id", "producer-1"))
        with warnings_shown("Producer", client_id), KafkaProducer(**self._settings) as producer:
            self._stats = ProducerStats(self._parsed.num_records, now_ms())
            if self._parsed.transaction_duration_ms > 0:
                producer.init_transactions()
                self._send_transactions(producer)
            else:
                self._send_all(producer)
            producer.flush()
            metrics = producer.metrics()
        self._report(metrics)
        return 0

    def _send_all(self, producer: KafkaProducer) -> None:
        with Progress("sending", self._parsed.num_records) as bar:
            throttler = Throttler(self._parsed.throughput)
            for number in range(self._parsed.num_records):
                self._send(producer, number)
                throttler.after(number + 1)
                if not number % _RECORDS_PER_UPDATE:
                    bar.update(self._stats.count)

    def _send_transactions(self, producer: KafkaProducer) -> None:
        throttler = Throttler(self._parsed.throughput)
        began_ms = None
        for number in range(self._parsed.num_records):
            if began_ms is None:
                producer.begin_transaction()
                began_ms = now_ms()
            sent_ms = self._send(producer, number)
            if sent_ms - began_ms >= self._parsed.transaction_duration_ms:
                producer.commit_transaction()
                began_ms = None
            throttler.after(number + 1)
        if began_ms is not None:
            producer.commit_transaction()

    def _send(self, producer: KafkaProducer, number: int) -> int:
        payloads = self._payloads
        payload = payloads[0] if len(payloads) == 1 else self._random.choice(payloads)
        sent_ms, size = now_ms(), len(payload)

        def acknowledged(_: RecordMetadata) -> None:
            at_ms = now_ms()
            report = self._stats.record(number, at_ms - sent_ms, size, at_ms)
            if report is not None and self._parsed.output == "text":
                print_line(report)

        future = producer.send(self._parsed.topic, payload)
        future.add_callback(acknowledged)
        future.add_errback(_tell)
        return sent_ms

    def _report(self, metrics: dict[str, Any]) -> None:
        found = self._stats.summary(now_ms())
        if self._parsed.output == "json":
            print_json(found | ({"metrics": metrics} if self._parsed.print_metrics else {}))
            return
        print_line(summary_line(found))
        if self._parsed.print_metrics:
            print_metrics(metrics)


def print_metrics(metrics: dict[str, Any]) -> None:
    """Write metrics as Kafka's tools do: group, name and value in two columns."""
    rows = [
        (f"{group}:{name}:{{}}", value)
        for group, named in sorted(metrics.items())
        for name, value in sorted(named.items())
    ]
    width = max([len(name) for name, _ in rows], default=0)
    print_line(f"\n{'Metric Name':<{width}} Value")
    for name, value in rows:
        shown = f"{value:.3f}" if isinstance(value, float) else value
        print_line(f"{name:<{width}} : {shown}")


def _tell(error: BaseException) -> None:
    sys.stderr.write(f"{java_text(error) if isinstance(error, Exception) else error}\n")


def _payloads(parsed: Namespace) -> list[bytes]:
    if parsed.payload_file is None:
        random = Random(0)
        return [bytes(random.randrange(65, 91) for _ in range(parsed.record_size))]
    path = Path(parsed.payload_file)
    if parsed.output == "text":
        print_line(f"Reading payloads from: {path.absolute()}")
    if not path.exists() or not path.stat().st_size:
        raise IllegalArgumentError("File does not exist or empty file provided.")
    delimiter = parsed.payload_delimiter.replace("\\n", "\n")
    texts = path.read_text(encoding="utf-8").removesuffix(delimiter).split(delimiter)
    if parsed.output == "text":
        print_line(f"Number of messages read: {len(texts)}")
    return [text.encode() for text in texts]
