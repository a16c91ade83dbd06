"""The work of `kafka-console-producer`: read lines, send records, tell what failed."""

import io
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kafkalike.cli.tools.client_log import warnings_shown
from kafkalike.cli.tools.line_reader import LineReader, LineRecord
from kafkalike.cli.tools.support.client import client_arguments
from kafkalike.cli.tools.support.errors import JavaError, ToolFailure
from kafkalike.cli.tools.support.java_names import java_text
from kafkalike.cli.tools.support.log4j import log_line
from kafkalike.cli.tools.support.progress import Progress
from kafkalike.client.blocking_producer import KafkaProducer
from kafkalike.client.producer.partitioner import KeyHashElseRoundRobin
from kafkalike.client.producer.producer_config import ProducerConfig
from kafkalike.protocol.errors import KafkaError

_READERS: Final = ("LineMessageReader", "kafka.tools.ConsoleProducer$LineMessageReader")
_LINES_PER_UPDATE: Final = 1000
_CALLBACK: Final = "org.apache.kafka.clients.producer.internals.ErrorLoggingCallback"


def send_lines(
    topic: str,
    settings: dict[str, Any],
    properties: Mapping[str, str],
    *,
    line_reader: str,
    sync: bool,
) -> int:
    """Send the lines of standard input; like Kafka's, it ends with 0 if a record could be read."""
    if line_reader not in _READERS:
        raise ToolFailure(f"java.lang.ClassNotFoundException: {line_reader}")
    reader = LineReader.from_properties(properties)
    try:
        with (
            warnings_shown("Producer", settings["client.id"]),
            KafkaProducer(**_arguments(settings)) as producer,
        ):
            for number, line in enumerate(_lines(), 1):
                _send(producer, topic, reader.read(line, number), sync=sync)
    except (KafkaError, JavaError) as error:
        raise ToolFailure(java_text(error)) from error
    return 0


def _arguments(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of the producer; records without key go to the partitions in turn."""
    return {"partitioner_class": KeyHashElseRoundRobin} | client_arguments(ProducerConfig, settings)


def _send(producer: KafkaProducer, topic: str, record: LineRecord, *, sync: bool) -> None:
    def tell(error: BaseException) -> None:
        key = "null" if record.key is None else f"{len(record.key)} bytes"
        value = "null" if record.value is None else f"{len(record.value)} bytes"
        text = (
            f"Error when sending message to topic {topic} with key: {key}, value: {value} with "
            "error:"
        )
        why = java_text(error) if isinstance(error, Exception) else str(error)
        # From the thread of the client: one write, so that lines stay whole.
        sys.stderr.write(f"{log_line('ERROR', text, _CALLBACK)}\n{why}\n")

    try:
        future = producer.send(topic, record.value, record.key, record.headers)
    except KafkaError as error:
        if sync:
            raise
        tell(error)
        return
    if sync:
        future.get()
    else:
        future.add_errback(tell)


def _lines() -> Iterator[str]:
    """Give the lines of standard input, with a prompt for people and a bar for large files."""
    text = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="surrogateescape")
    try:
        if sys.stdin.isatty() and sys.stdout.isatty():
            yield from _prompted(text)
        else:
            yield from _followed(text)
    finally:
        text.detach()  # or standard input would be closed with it


def _prompted(text: io.TextIOWrapper) -> Iterator[str]:
    while True:
        sys.stdout.write(">")
        sys.stdout.flush()
        line = text.readline()
        if not line:
            return
        yield line.removesuffix("\n")


def _followed(text: io.TextIOWrapper) -> Iterator[str]:
    size = _file_size()
    with Progress("sending", size) as bar:
        done = 0
        for number, line in enumerate(text):
            yield line.removesuffix("\n")
            done += len(line)
            if size and not number % _LINES_PER_UPDATE:
                bar.update(done)


def _file_size() -> int:
    """Return the size of standard input if it is a file, else 0."""
    try:
        found = os.fstat(sys.stdin.fileno())
    except (OSError, ValueError):
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
