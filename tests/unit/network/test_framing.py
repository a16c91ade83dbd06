import itertools
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalike.network.framing import Framer
from kafkalike.protocol.errors import ProtocolError

LIMIT = 1000


def framed(*bodies: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(body)) + body for body in bodies)


def feed(framer: Framer, *chunks: bytes) -> list[bytes]:
    return [buffer[start:end] for chunk in chunks for buffer, start, end in framer.feed(chunk)]


@given(st.lists(st.binary(max_size=40), max_size=8), st.lists(st.integers(0, 400)))
def test_any_split_into_chunks_gives_the_same_frames(bodies: list[bytes], cuts: list[int]) -> None:
    stream = framed(*bodies)
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chunks = [stream[a:b] for a, b in itertools.pairwise(places)]
    assert feed(Framer(LIMIT), *chunks) == bodies


def test_bytes_one_by_one_give_the_same_frames() -> None:
    bodies = [b"", b"abc", b"x" * 300, b""]
    stream = framed(*bodies)
    assert feed(Framer(LIMIT), *[stream[i : i + 1] for i in range(len(stream))]) == bodies


def test_a_frame_is_given_as_soon_as_it_is_complete() -> None:
    framer = Framer(LIMIT)
    stream = framed(b"one", b"two")
    assert feed(framer, stream[:6]) == []
    assert feed(framer, stream[6:8]) == [b"one"]
    assert feed(framer, stream[8:]) == [b"two"]


def test_whole_frames_are_ranges_of_the_chunk_and_not_copies() -> None:
    chunk = framed(b"one", b"two")
    assert [(buffer is chunk, start, end) for buffer, start, end in Framer(LIMIT).feed(chunk)] == [
        (True, 4, 7),
        (True, 11, 14),
    ]


def test_a_frame_of_the_limit_is_taken_and_one_more_byte_refused() -> None:
    assert feed(Framer(LIMIT), framed(bytes(LIMIT))) == [bytes(LIMIT)]
    with pytest.raises(ProtocolError, match="frame of 1001 bytes, the limit is 1000"):
        feed(Framer(LIMIT), struct.pack(">i", LIMIT + 1))


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(ProtocolError, match="frame of -1 bytes"):
        feed(Framer(LIMIT), b"\xff\xff\xff\xff")


def test_an_illegal_size_is_refused_before_its_bytes_come_and_after_good_frames() -> None:
    framer = Framer(LIMIT)
    frames = framer.feed(framed(b"good") + b"\x7f\xff\xff\xff")
    buffer, start, end = next(frames)
    assert buffer[start:end] == b"good"
    with pytest.raises(ProtocolError):
        next(frames)


def test_an_illegal_size_that_comes_in_pieces_is_refused() -> None:
    framer = Framer(LIMIT)
    assert feed(framer, b"\x7f", b"\xff", b"\xff") == []
    with pytest.raises(ProtocolError):
        feed(framer, b"\xff")


def test_a_large_frame_in_many_chunks_is_joined_once() -> None:
    body = bytes(range(256)) * 4096
    stream = framed(body)
    chunks = [stream[i : i + 1460] for i in range(0, len(stream), 1460)]
    assert feed(Framer(len(body)), *chunks) == [body]
