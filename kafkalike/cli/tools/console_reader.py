"""The work of `kafka-console-consumer`: poll, show, stop when it is time."""

import signal
import sys
from collections.abc import Iterator
from typing import Any, Final

from kafkalike.cli.tools.client_log import warnings_shown
from kafkalike.cli.tools.console_consumer import EARLIEST, LATEST, Reading
from kafkalike.cli.tools.message_formatters import Formatter
from kafkalike.cli.tools.support.client import client_arguments
from kafkalike.cli.tools.support.errors import JavaError, ToolFailure
from kafkalike.cli.tools.support.java_names import java_text
from kafkalike.cli.tools.support.log4j import log_line
from kafkalike.cli.tools.support.tool import print_error, print_line
from kafkalike.client.blocking_consumer import KafkaConsumer
from kafkalike.client.consumer.consumer_config import ConsumerConfig
from kafkalike.client.consumer.consumer_record import ConsumerRecord
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import KafkaError

_LOGGER: Final = "kafka.tools.ConsoleConsumer$"
_POLL_MS: Final = 1000


class _NoRecord(Exception):
    """There was no record for the time that the user wants to wait."""


def read_records(
    wanted: Reading, settings: dict[str, Any], show: Formatter, tells_end: bool
) -> int:
    """Show records until enough were shown, none came for too long, or somebody interrupts."""
    arguments = client_arguments(ConsumerConfig, settings)
    client_id = str(arguments.setdefault("client_id", f"consumer-{settings['group.id']}-1"))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with warnings_shown("Consumer", client_id):
            reader = ConsoleReader(KafkaConsumer(**arguments), wanted, show)
            reader.run()
    except (KafkaError, JavaError) as error:
        text = log_line("ERROR", "Unknown error when running consumer: ", _LOGGER)
        raise ToolFailure(f"{text}\n{java_text(error)}") from error
    finally:
        if tells_end:
            print_line("shutdown_complete")
    return 0


class ConsoleReader:
    """One run: what was read and not yet shown, and how many were shown."""

    def __init__(self, consumer: KafkaConsumer, wanted: Reading, show: Formatter) -> None:
        self._consumer = consumer
        self._wanted = wanted
        self._show = show
        self._shown = 0
        self._waiting: Iterator[ConsumerRecord] = iter(())

    def run(self) -> None:
        """Read to the end; then close, and tell how many records there were."""
        try:
            self._begin()
            self._show_all()
        finally:
            self._end()

    def _begin(self) -> None:
        wanted, consumer = self._wanted, self._consumer
        if wanted.pattern is not None:
            consumer.subscribe(pattern=wanted.pattern)
        elif wanted.partition is None:
            consumer.subscribe([wanted.topic or ""])
        else:
            tp = TopicPartition(wanted.topic or "", wanted.partition)
            consumer.assign([tp])
            if wanted.offset == EARLIEST:
                consumer.seek_to_beginning(tp)
            elif wanted.offset == LATEST:
                consumer.seek_to_end(tp)
            else:
                consumer.seek(tp, wanted.offset)

    def _show_all(self) -> None:
        limit = self._wanted.max_messages
        while limit is None or self._shown < limit:
            try:
                record = self._receive()
            except (KafkaError, _NoRecord) as error:
                text = "Error processing message, terminating consumer process: "
                print_error(f"{log_line('ERROR', text, _LOGGER)}\n{_cause(error)}")
                return
            self._shown += 1
            if not self._write(record):
                print_error("Unable to write to standard out, closing consumer.")
                return

    def _receive(self) -> ConsumerRecord:
        """Return the next record; waits for it."""
        left_ms = self._wanted.timeout_ms
        while (record := next(self._waiting, None)) is None:
            if left_ms is not None and left_ms <= 0:
                raise _NoRecord
            sys.stdout.flush()  # before waiting, so that people see what there is
            pause_ms = _POLL_MS if left_ms is None else min(left_ms, _POLL_MS)
            records = self._consumer.poll(pause_ms)
            if not records and left_ms is not None:
                left_ms -= pause_ms
            self._waiting = (record for part in records.values() for record in part)
        return record

    def _write(self, record: ConsumerRecord) -> bool:
        """Show a record; False if nobody is there any more to see it."""
        try:
            sys.stdout.buffer.write(self._show(record))
        except BrokenPipeError:
            return False
        except (KafkaError, JavaError, ValueError) as error:
            if not self._wanted.skips_errors:
                raise
            text = "Error processing message, skipping this message: "
            print_error(f"{log_line('ERROR', text, _LOGGER)}\n{java_text(error)}")
        return True

    def _end(self) -> None:
        self._seek_back()
        self._consumer.close()
        print_error(f"Processed a total of {self._shown} messages")

    def _seek_back(self) -> None:
        """Forget what was fetched and not shown, so that it is not committed."""
        first: dict[TopicPartition, int] = {}
        for record in self._waiting:
            first.setdefault(TopicPartition(record.topic, record.partition), record.offset)
        for tp, offset in first.items():
            self._consumer.seek(tp, offset)


def _cause(error: Exception) -> str:
    if isinstance(error, _NoRecord):
        return "org.apache.kafka.common.errors.TimeoutException"
    return java_text(error)
