"""The work of `kafka-consumer-perf-test`: poll until enough was read or nothing comes any more."""

from typing import Any

from kafkalike.cli.tools.client_log import warnings_shown
from kafkalike.cli.tools.consumer_perf_stats import (
    Mark,
    header,
    interval_line,
    java_date,
    summary,
    total_line,
)
from kafkalike.cli.tools.producer_perf_run import print_metrics
from kafkalike.cli.tools.support.client import client_arguments
from kafkalike.cli.tools.support.listing import print_json
from kafkalike.cli.tools.support.options import Parsed
from kafkalike.cli.tools.support.progress import Progress
from kafkalike.cli.tools.support.tool import print_error, print_line
from kafkalike.cli.tools.support.wall_clock import now_ms
from kafkalike.client.blocking_consumer import KafkaConsumer
from kafkalike.client.consumer.consumer_config import ConsumerConfig
from kafkalike.client.consumer.consumer_record import ConsumerRecord
from kafkalike.model.topic_partition import TopicPartition

_POLL_MS = 100


class Run:
    """One test; it is told of rebalances itself, to tell joining from reading."""

    def __init__(self, parsed: Parsed, settings: dict[str, Any]) -> None:
        self._wanted: int = parsed.value("messages")
        self._timeout_ms: int = parsed.value("timeout")
        self._interval_ms: int = parsed.value("reporting-interval")
        self._date_format: str = parsed.value("date-format")
        self._is_text = parsed.value("output") == "text"
        self._is_detailed = parsed.has("show-detailed-stats")
        self._shows_header = not parsed.has("hide-header")
        self._shows_metrics = parsed.has("print-metrics")
        self._topic: str = parsed.value("topic")
        self._settings = client_arguments(ConsumerConfig, settings)
        self._join_start_ms = 0
        self._joining_ms = 0
        self._records = 0
        self._bytes = 0

    def run(self) -> int:
        """Read, and report."""
        if self._is_text and self._shows_header:
            print_line(header(is_detailed=self._is_detailed))
        client_id = f"consumer-{self._settings['group_id']}-1"
        with warnings_shown("Consumer", client_id), KafkaConsumer(**self._settings) as consumer:
            start = self._mark()
            self._read(consumer)
            end = self._mark()
            metrics = consumer.metrics() if self._shows_metrics else {}
        self._report(start, end, metrics)
        return 0

    def on_partitions_assigned(self, _: set[TopicPartition]) -> None:
        """Take note that the group is joined."""
        self._joining_ms += now_ms() - self._join_start_ms

    def on_partitions_revoked(self, _: set[TopicPartition]) -> None:
        """Take note that the group is joined anew."""
        self._join_start_ms = now_ms()

    def _mark(self) -> Mark:
        return Mark(now_ms(), self._records, self._bytes, self._joining_ms)

    def _read(self, consumer: KafkaConsumer) -> None:
        self._join_start_ms = now_ms()
        consumer.subscribe([self._topic], listener=self)
        last = self._mark()
        last_record_ms = last.at_ms
        with Progress("reading", self._wanted) as bar:
            while self._records < self._wanted:
                polled = consumer.poll(_POLL_MS)
                at_ms = now_ms()
                if polled:
                    last_record_ms = at_ms
                for records in polled.values():
                    self._take(records)
                bar.update(self._records)
                if at_ms - last.at_ms >= self._interval_ms:
                    last = self._interval(last)
                if at_ms - last_record_ms > self._timeout_ms:
                    break
        if self._records < self._wanted:
            self._warn()

    def _take(self, records: list[ConsumerRecord]) -> None:
        self._records += len(records)
        self._bytes += sum(len(record.key or b"") + len(record.value or b"") for record in records)

    def _interval(self, last: Mark) -> Mark:
        mark = self._mark()
        if self._is_detailed and self._is_text:
            print_line(interval_line(last, mark, self._date_format))
        return mark

    def _warn(self) -> None:
        text = (
            "WARNING: Exiting before consuming the expected number of messages: timeout "
            f"({self._timeout_ms} ms) exceeded. You can use the --timeout option to increase the "
            "timeout."
        )
        if self._is_text:
            print_line(text)
        else:
            print_error(text)

    def _report(self, start: Mark, end: Mark, metrics: dict[str, Any]) -> None:
        if not self._is_text:
            times = {
                "start": java_date(self._date_format, start.at_ms),
                "end": java_date(self._date_format, end.at_ms),
            }
            print_json(times | summary(start, end) | ({"metrics": metrics} if metrics else {}))
            return
        if not self._is_detailed:
            print_line(total_line(start, end, self._date_format))
        if metrics:
            print_metrics(metrics)
