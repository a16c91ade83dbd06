"""The work of `kafka-verifiable-producer`: send numbers, tell what became of each."""

import time
from argparse import Namespace
from pathlib import Path
from typing import Any

from kafkalike.cli.tools.client_log import warnings_shown
from kafkalike.cli.tools.support.client import client_arguments, read_settings
from kafkalike.cli.tools.support.java_names import java_class, message_of
from kafkalike.cli.tools.support.throttler import Throttler
from kafkalike.cli.tools.verifiable_events import StopRequest, print_event
from kafkalike.client.blocking_producer import KafkaProducer
from kafkalike.client.producer.producer_config import ProducerConfig
from kafkalike.client.producer.record_metadata import RecordMetadata
from kafkalike.protocol.errors import KafkaError


class Run:
    """One run: how many were sent, how many of them acknowledged."""

    def __init__(self, parsed: Namespace) -> None:
        self._parsed = parsed
        self._sent = 0
        self._acked = 0
        self._start = time.monotonic()

    def run(self) -> int:
        """Send until there is enough or somebody ends it; then tell how it went."""
        stop = StopRequest()
        arguments = client_arguments(ProducerConfig, self._settings())
        with (
            warnings_shown("Producer", str(arguments.get("client_id", "producer-1"))),
            KafkaProducer(**arguments) as producer,
        ):
            self._start = time.monotonic()
            print_event("startup_complete")
            self._send_all(producer, stop)
        print_event("shutdown_complete")
        elapsed = max(0.001, time.monotonic() - self._start)
        print_event(
            "tool_data",
            sent=self._sent,
            acked=self._acked,
            target_throughput=self._parsed.throughput,
            avg_throughput=self._acked / elapsed,
        )
        return stop.exit_code

    def _settings(self) -> dict[str, str]:
        settings = {
            "bootstrap.servers": self._parsed.bootstrap_servers,
            "acks": str(self._parsed.acks),
            "retries": "0",
        }
        if self._parsed.producer_config:
            settings |= read_settings(Path(self._parsed.producer_config))
        return settings

    def _send_all(self, producer: KafkaProducer, stop: StopRequest) -> None:
        throttler = Throttler(self._parsed.throughput)
        limit = self._parsed.max_messages
        while not stop and (limit < 0 or self._sent < limit):
            self._send(producer, self._sent)
            throttler.after(self._sent)

    def _send(self, producer: KafkaProducer, number: int) -> None:
        keys, prefix = self._parsed.repeating_keys, self._parsed.value_prefix
        key = None if keys is None else str(number % keys)
        value = str(number) if prefix is None else f"{prefix}.{number}"
        self._sent += 1

        def succeeded(metadata: RecordMetadata) -> None:
            self._acked += 1
            print_event(
                "producer_send_success",
                key=key,
                value=value,
                offset=metadata.offset,
                topic=metadata.topic,
                partition=metadata.partition,
            )

        def failed(error: Any) -> None:
            print_event(
                "producer_send_error",
                key=key,
                value=value,
                topic=self._parsed.topic,
                exception=f"class {java_class(error)}",
                message=message_of(error),
            )

        try:
            future = producer.send(
                self._parsed.topic,
                value.encode(),
                None if key is None else key.encode(),
                timestamp_ms=self._timestamp_ms(),
            )
        except KafkaError as error:
            failed(error)
            return
        future.add_callback(succeeded)
        future.add_errback(failed)

    def _timestamp_ms(self) -> int | None:
        first: int = self._parsed.create_time
        return None if first == -1 else first + int((time.monotonic() - self._start) * 1000)
