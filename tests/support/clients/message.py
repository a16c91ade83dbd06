"""What clients write and read in conformance tests, in one shape for all of them."""

import random
from collections.abc import Sequence
from typing import NamedTuple, Protocol

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

Header = tuple[str, bytes | None]

# A fixed day in the past, far from "now", so that a broker which stamps records itself is noticed.
CREATE_TIME_MS = 1_600_000_000_000


class Message(NamedTuple):
    """What a producer is given; without a timestamp it takes the time of its clock."""

    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    timestamp: int | None = None


class Received(NamedTuple):
    """What a consumer got."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]


class Client(Protocol):
    """One client of Kafka. All of them work on partition 0 of a topic, and without a group."""

    name: str

    def why_absent(self) -> str:
        """Return the reason why it can't run here; empty if it can."""

    def can_write(self, message: Message) -> bool:
        """Whether it has a way to write such a message."""

    def produce(
        self, bootstrap_servers: str, topic: str, messages: Sequence[Message], codec: str
    ) -> None:
        """Write messages in order and return when all are acknowledged."""

    def consume(
        self, bootstrap_servers: str, topic: str, count: int, start: int | None = None
    ) -> list[Received]:
        """Read `count` messages from the offset `start` on; None is the earliest."""

    def offset_range(self, bootstrap_servers: str, topic: str) -> tuple[int, int]:
        """Ask for the earliest and the latest offset."""

    def offset_for_time(self, bootstrap_servers: str, topic: str, timestamp: int) -> int | None:
        """Ask for the first offset at or after a time; None if there is none."""


def _sample() -> tuple[Message, ...]:
    chance = random.Random(2_8_2)
    line = b"a line of a log that repeats itself, as logs do; "
    bare = (
        Message(b"key", b"value"),
        Message(None, b"no key"),
        Message(b"no value", None),
        Message(None, None),
        Message(b"empty value", b""),
        Message(b"", b"empty key"),
        Message("schlüssel".encode(), "größe ☃ 雪".encode()),
        Message(chance.randbytes(20), chance.randbytes(10_000)),
        Message(b"a megabyte", (line * 20_500)[:1_000_000]),
        Message(b"text header", b"x", (("trace", b"abc-123"), ("trace", b"again"))),
        Message(b"odd headers", b"x", (("empty", b""), ("null", None), ("ключ", "ü".encode()))),
        Message(b"binary header", b"x", (("bytes", bytes(range(0x80, 0x90))),)),
        Message(b"last", b"record"),
    )
    times = (CREATE_TIME_MS + number * 1000 for number in range(len(bare)))
    return (*bare, *(m._replace(timestamp=t) for m, t in zip(bare, times, strict=True)))


SAMPLE = _sample()
