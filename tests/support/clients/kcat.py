"""kcat, the command line of librdkafka that Debian ships."""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.clients.message import Header, Message, Received

_TIMEOUT_S = 30.0
_FORMAT = r"%o %T %K %S\n%h\n%k%s\n"


class KcatClient:
    """A process for each call; for each message when it writes, since keys are arguments."""

    name = "kcat"

    def why_absent(self) -> str:
        return "" if shutil.which("kcat") else "no kcat on PATH (Debian's package kcat has it)"

    def can_write(self, message: Message) -> bool:
        # It cannot set timestamps, nor send an empty key in all cases, and an argument cannot hold
        # any byte.
        texts = [message.key or b"", *(value or b"" for _, value in message.headers)]
        return message.timestamp is None and message.key != b"" and all(map(_is_text, texts))

    def produce(
        self, bootstrap_servers: str, topic: str, messages: Sequence[Message], codec: str
    ) -> None:
        where = ["-P", "-b", bootstrap_servers, "-t", topic, "-p", "0"]
        how = ["-z", codec, "-X", "message.max.bytes=2000000"]
        with tempfile.TemporaryDirectory() as scratch:
            file = Path(scratch, "value")
            for message in messages:
                what = _with_value(message, file) if message.value else _without_value(message)
                headers = [f"-H{name}{_after_name(value)}" for name, value in message.headers]
                _run(*where, *how, *headers, *what.arguments, stdin=what.stdin)

    def consume(
        self, bootstrap_servers: str, topic: str, count: int, start: int | None = None
    ) -> list[Received]:
        offset = "beginning" if start is None else str(start)
        return self._consume(bootstrap_servers, topic, count, offset)

    def consume_from_time(
        self, bootstrap_servers: str, topic: str, count: int, timestamp: int
    ) -> list[Received]:
        """Read `count` messages from the first at or after a time on."""
        return self._consume(bootstrap_servers, topic, count, f"s@{timestamp}")

    def _consume(
        self, bootstrap_servers: str, topic: str, count: int, offset: str
    ) -> list[Received]:
        where = ["-b", bootstrap_servers, "-t", topic, "-p", "0", "-o", offset]
        return _parse(_run("-C", *where, "-c", str(count), "-f", _FORMAT))

    def offset_range(self, bootstrap_servers: str, topic: str) -> tuple[int, int]:
        return _query(bootstrap_servers, topic, -2), _query(bootstrap_servers, topic, -1)

    def offset_for_time(self, bootstrap_servers: str, topic: str, timestamp: int) -> int | None:
        offset = _query(bootstrap_servers, topic, timestamp)
        return offset if offset >= 0 else None


def _is_text(data: bytes) -> bool:
    try:
        return data.decode().isprintable()
    except UnicodeDecodeError:
        return False


def _after_name(value: bytes | None) -> str:
    return "" if value is None else f"={value.decode()}"


class _Input(NamedTuple):
    arguments: list[str]
    stdin: bytes = b""


def _with_value(message: Message, file: Path) -> _Input:
    """A whole file is one message."""
    assert message.value is not None
    file.write_bytes(message.value)
    return _Input([str(file)] if message.key is None else ["-k", message.key.decode(), str(file)])


def _without_value(message: Message) -> _Input:
    """Of an empty file it sends nothing, but of a line it does; with -Z what is empty is null."""
    arguments = ["-K", "\t", "-Z"] if message.value is None else ["-K", "\t"]
    return _Input(arguments, (message.key or b"") + b"\t\n")


def _query(bootstrap_servers: str, topic: str, timestamp: int) -> int:
    # "topic [0] offset 17"
    answer = _run("-Q", "-b", bootstrap_servers, "-t", f"{topic}:0:{timestamp}")
    return int(answer.split()[-1])


def _run(*arguments: str, stdin: bytes = b"") -> bytes:
    done = subprocess.run(
        ["kcat", *arguments], input=stdin, capture_output=True, timeout=_TIMEOUT_S, check=False
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout


def _parse(output: bytes) -> list[Received]:
    """Read what `_FORMAT` made; the lengths say where a key and a value end."""
    received: list[Received] = []
    while output:
        numbers, headers, rest = output.split(b"\n", 2)
        offset, timestamp, *sizes = map(int, numbers.split())
        fields: list[bytes | None] = []
        for size in sizes:
            fields.append(None if size < 0 else rest[:size])
            rest = rest[max(0, size) :]
        output = rest.removeprefix(b"\n")
        received.append(Received(offset, timestamp, *fields, _parse_headers(headers)))
    return received


def _parse_headers(text: bytes) -> tuple[Header, ...]:
    pairs = (pair.split(b"=", 1) for pair in text.split(b",") if pair)
    return tuple((name.decode(), None if value == b"NULL" else value) for name, value in pairs)
