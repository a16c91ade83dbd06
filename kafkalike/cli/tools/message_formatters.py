"""How the console consumer shows records, by the names of Kafka's formatter classes.

A formatter returns the bytes to write for a record. Besides Kafka's there is `json`, a line of JSON
per record, and `module:function`, a Python callable from record to text or bytes.
"""

import base64
import json
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from kafkalike.cli.tools.coordinator_text import show_group, show_offset, show_transaction
from kafkalike.cli.tools.decoders import Decoder, decoder
from kafkalike.cli.tools.support.errors import JavaError
from kafkalike.cli.tools.support.log4j import log_line
from kafkalike.cli.tools.support.tool import print_error
from kafkalike.client.consumer.consumer_record import ConsumerRecord
from kafkalike.protocol.records.record import TimestampType

Formatter = Callable[[ConsumerRecord], bytes]

_TIMESTAMP_TYPES: Final = {
    int(TimestampType.CREATE_TIME): "CreateTime",
    int(TimestampType.LOG_APPEND_TIME): "LogAppendTime",
}


class DefaultMessageFormatter:
    """Columns that the properties `print.…` ask for; the value alone by default."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        def is_true(name: str, default: bool = False) -> bool:
            return properties.get(name, str(default)).strip().lower() == "true"

        def text(name: str, default: str) -> bytes:
            return properties.get(name, default).encode()

        def deserializer(name: str) -> Decoder | None:
            return decoder(properties[name]) if name in properties else None

        self._columns = [
            column
            for name, column in (
                ("timestamp", _timestamp),
                ("partition", _partition),
                ("offset", _offset),
                ("headers", self._headers),
                ("key", self._key),
                ("value", self._value),
            )
            if is_true(f"print.{name}", default=name == "value")
        ]
        self._separator = text("key.separator", "\t")
        self._line_separator = text("line.separator", "\n")
        self._headers_separator = text("headers.separator", ",")
        self._null = text("null.literal", "null")
        self._key_decoder = deserializer("key.deserializer")
        self._value_decoder = deserializer("value.deserializer")
        self._headers_decoder = deserializer("headers.deserializer")

    def __call__(self, record: ConsumerRecord) -> bytes:
        """Return the line of a record; nothing at all without columns."""
        if not self._columns:
            return b""
        cells = [column(record) for column in self._columns]
        return self._separator.join(cells) + self._line_separator

    def _headers(self, record: ConsumerRecord) -> bytes:
        if not record.headers:
            return b"NO_HEADERS"
        return self._headers_separator.join(
            name.encode("utf-8", "surrogateescape")
            + b":"
            + self._shown(value, self._headers_decoder)
            for name, value in record.headers
        )

    def _key(self, record: ConsumerRecord) -> bytes:
        return self._shown(record.key, self._key_decoder)

    def _value(self, record: ConsumerRecord) -> bytes:
        return self._shown(record.value, self._value_decoder)

    def _shown(self, data: bytes | None, decode: Decoder | None) -> bytes:
        # Kafka deserialises the word for null, too.
        known = self._null if data is None else data
        return known if decode is None else decode(known).encode()


def _timestamp(record: ConsumerRecord) -> bytes:
    kind = _TIMESTAMP_TYPES.get(record.timestamp_type)
    return b"NO_TIMESTAMP" if kind is None else f"{kind}:{record.timestamp}".encode()


def _partition(record: ConsumerRecord) -> bytes:
    return f"Partition:{record.partition}".encode()


def _offset(record: ConsumerRecord) -> bytes:
    return f"Offset:{record.offset}".encode()


def _logging(properties: Mapping[str, str]) -> Formatter:
    write = DefaultMessageFormatter(properties)

    def text(data: bytes | None) -> str:
        return "null" if data is None else data.decode(errors="replace")

    def formatter(record: ConsumerRecord) -> bytes:
        kind = _TIMESTAMP_TYPES.get(record.timestamp_type)
        when = "" if kind is None else f"{kind}:{record.timestamp}, "
        said = f"{when}key:{text(record.key)}, value:{text(record.value)}"
        print_error(log_line("INFO", said, "kafka.tools.LoggingMessageFormatter"))
        return write(record)

    return formatter


def _checksum(properties: Mapping[str, str]) -> Formatter:
    # Kafka 2.8 has no checksum of a record any more and always prints 0.
    topic = f"{properties['topic']}:" if "topic" in properties else ""
    return lambda record: f"{topic}checksum:0\n".encode()


def _lines(show: Callable[[bytes | None, bytes | None], str | None]) -> Formatter:
    def formatter(record: ConsumerRecord) -> bytes:
        line = show(record.key, record.value)
        return b"" if line is None else f"{line}\n".encode()

    return formatter


def _json(record: ConsumerRecord) -> bytes:
    row = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestamp_type": _TIMESTAMP_TYPES.get(record.timestamp_type),
        "key": _json_text(record.key),
        "value": _json_text(record.value),
        "headers": [[name, _json_text(value)] for name, value in record.headers],
    }
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def _json_text(data: bytes | None) -> str | None:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"b64:{base64.b64encode(data).decode()}"


_GROUP: Final = "kafka.coordinator.group.GroupMetadataManager$"
_FORMATTERS: Final[dict[str, Callable[[Mapping[str, str]], Formatter]]] = {
    "kafka.tools.DefaultMessageFormatter": DefaultMessageFormatter,
    "kafka.tools.LoggingMessageFormatter": _logging,
    "kafka.tools.NoOpMessageFormatter": lambda _: lambda record: b"",
    "kafka.tools.ChecksumMessageFormatter": _checksum,
    f"{_GROUP}OffsetsMessageFormatter": lambda _: _lines(show_offset),
    f"{_GROUP}GroupMetadataMessageFormatter": lambda _: _lines(show_group),
    "kafka.coordinator.transaction.TransactionLog$TransactionLogMessageFormatter": (
        lambda _: _lines(show_transaction)
    ),
    "json": lambda _: _json,
}


def formatter(name: str, properties: Mapping[str, str]) -> Formatter:
    """Return the formatter of that class; ClassNotFoundException if there is none."""
    known = _FORMATTERS.get(name.replace("\\$", "$"))
    if known is not None:
        return known(properties)
    if ":" in name:
        return _python(name)
    raise JavaError("java.lang.ClassNotFoundException", name)


def _python(name: str) -> Formatter:
    module, _, function = name.partition(":")
    try:
        call: Callable[[ConsumerRecord], Any] = getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise JavaError("java.lang.ClassNotFoundException", f"{name}: {error}") from None

    def formatter(record: ConsumerRecord) -> bytes:
        made = call(record)
        return made if isinstance(made, bytes) else f"{made}\n".encode()

    return formatter
