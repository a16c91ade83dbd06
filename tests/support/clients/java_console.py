"""Kafka's own Java console producer and consumer, and GetOffsetShell."""

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.support import apache_kafka
from tests.support.clients.message import Header, Message, Received

_TIMEOUT_S = 60.0
_COLUMN, _LINE, _NULL, _HEADER = "<|>", "<|||>", "<null>", "<,>"
_SHOWN = ("timestamp", "offset", "headers", "key", "value")


class JavaConsoleClient:
    """A JVM for each call. The producer takes lines of text: a key, a tab, a value."""

    name = "java-console"

    def why_absent(self) -> str:
        return apache_kafka.why_no_apache_kafka()

    def can_write(self, message: Message) -> bool:
        if message.value is None or message.headers or message.timestamp is not None:
            return False
        return all(map(_is_line, (message.key or b"", message.value)))

    def produce(
        self, bootstrap_servers: str, topic: str, messages: Sequence[Message], codec: str
    ) -> None:
        # With ignore.error a line without a separator is a record without a key.
        _run(
            *("kafka.tools.ConsoleProducer", "--bootstrap-server", bootstrap_servers),
            *("--topic", topic, "--compression-codec", codec, "--request-required-acks", "all"),
            *("--property", "parse.key=true", "--property", "ignore.error=true"),
            stdin=b"".join(_line(message) for message in messages),
        )

    def consume(
        self, bootstrap_servers: str, topic: str, count: int, start: int | None = None
    ) -> list[Received]:
        settings = {
            **{f"print.{column}": "true" for column in _SHOWN},
            "key.separator": _COLUMN,
            "line.separator": _LINE,
            "headers.separator": _HEADER,
            "null.literal": _NULL,
        }
        properties = [f"--property={key}={value}" for key, value in settings.items()]
        output = _run(
            *("kafka.tools.ConsoleConsumer", "--bootstrap-server", bootstrap_servers),
            *("--topic", topic, "--partition", "0"),
            *("--offset", "earliest" if start is None else str(start)),
            *("--max-messages", str(count), "--timeout-ms", "30000", *properties),
        )
        return [_parse(line) for line in output.split(_LINE.encode())[:-1]]

    def offset_range(self, bootstrap_servers: str, topic: str) -> tuple[int, int]:
        first, last = (_offset_shell(bootstrap_servers, topic, time) for time in (-2, -1))
        assert first is not None
        assert last is not None
        return first, last

    def offset_for_time(self, bootstrap_servers: str, topic: str, timestamp: int) -> int | None:
        return _offset_shell(bootstrap_servers, topic, timestamp)


def _offset_shell(bootstrap_servers: str, topic: str, timestamp: int) -> int | None:
    # "topic:0:17", and "topic:0:" where there is no such record
    where = ["--broker-list", bootstrap_servers, "--topic", topic, "--time", str(timestamp)]
    offset = _run("kafka.tools.GetOffsetShell", *where).decode().strip().rpartition(":")[2]
    return int(offset) if offset else None


def _is_line(data: bytes) -> bool:
    try:
        return data.decode().isprintable()
    except UnicodeDecodeError:
        return False


def _line(message: Message) -> bytes:
    assert message.value is not None
    before = b"" if message.key is None else message.key + b"\t"
    return before + message.value + b"\n"


def _parse(line: bytes) -> Received:
    time, offset, headers, key, value = line.split(_COLUMN.encode())
    return Received(
        int(offset.removeprefix(b"Offset:")),
        int(time.removeprefix(b"CreateTime:")),
        _or_null(key),
        _or_null(value),
        _parse_headers(headers),
    )


def _parse_headers(text: bytes) -> tuple[Header, ...]:
    if text == b"NO_HEADERS":
        return ()
    pairs = (pair.split(b":", 1) for pair in text.split(_HEADER.encode()))
    return tuple((name.decode(), _or_null(value)) for name, value in pairs)


def _or_null(data: bytes) -> bytes | None:
    return None if data == _NULL.encode() else data


def _run(main_class: str, *arguments: str, stdin: bytes = b"") -> bytes:
    """Run a tool and return its output as bytes: records need not be text."""
    with tempfile.TemporaryDirectory() as scratch:
        command = apache_kafka.java_command(
            Path(scratch), main_class, *arguments, jvm_options=_JVM_OPTIONS, is_tool=True
        )
        done = subprocess.run(
            command, input=stdin, capture_output=True, timeout=_TIMEOUT_S, check=False
        )
    problems = done.stderr.decode(errors="replace")
    assert done.returncode == 0, problems
    assert "ERROR" not in problems, problems
    return done.stdout


# A tool lives for seconds: it never needs the code of the second compiler.
_JVM_OPTIONS = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
