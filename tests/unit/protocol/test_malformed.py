"""Bytes that are no message: one kind of error, in bounded time, whatever they are."""

import contextlib
import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalike.protocol.api_keys import request_class, response_class
from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.header import parse_request_header, parse_response_header
from kafkalike.protocol.messages.create_topics import CreateTopicsRequest
from kafkalike.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkalike.protocol.messages.fetch import FetchResponse
from kafkalike.protocol.messages.join_group import JoinGroupRequest
from kafkalike.protocol.messages.metadata import MetadataRequest
from kafkalike.protocol.messages.produce import ProduceRequest
from kafkalike.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalike.protocol.schema import Message
from tests.support.protocol_vectors import Frame, Vector, frames, message_classes, vectors

MANY = 2**31 - 1  # who believed such a count or length would not come back


def read_frame(frame: Frame) -> Message:
    """Read header and body of a frame, as the server and the client do."""
    if frame.is_request:
        request_header = parse_request_header(frame.data)
        cls = request_class(request_header.api_key)
        return cls.decode(frame.data, request_header.api_version, request_header.body_start)
    header = parse_response_header(frame.data, frame.api_key, frame.version)
    return response_class(frame.api_key).decode(frame.data, frame.version, header.body_start)


def read_or_refuse(frame: Frame) -> None:
    with contextlib.suppress(ProtocolError):
        read_frame(frame)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(frames()), st.data())
def test_a_mutated_frame_decodes_or_is_a_protocol_error(frame: Frame, data: st.DataObject) -> None:
    mutated = bytearray(frame.data)
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(mutated) - 1))
        mutated[position] = data.draw(st.sampled_from([0, 1, 127, 128, 255]) | st.integers(0, 255))
    read_or_refuse(frame._replace(data=bytes(mutated)))


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(frames()), st.binary(max_size=200))
def test_random_bytes_decode_or_are_a_protocol_error(frame: Frame, body: bytes) -> None:
    read_or_refuse(frame._replace(data=frame.data[:12] + body))


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(frames()), st.data())
def test_a_frame_with_bytes_inserted_or_removed_decodes_or_is_a_protocol_error(
    frame: Frame, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(frame.data)))
    stop = data.draw(st.integers(start, min(start + 8, len(frame.data))))
    inserted = data.draw(st.binary(max_size=8))
    read_or_refuse(frame._replace(data=frame.data[:start] + inserted + frame.data[stop:]))


def mutations(vector: Vector, chance: random.Random) -> Iterator[bytes]:
    """Yield a few ways in which the bytes of a message can be wrong."""
    for _ in range(6):
        mutated = bytearray(vector.data)
        for _ in range(chance.randint(1, 3)):
            mutated[chance.randrange(len(mutated))] = chance.choice(
                [0, 1, 127, 128, 255, chance.randrange(256)]
            )
        yield bytes(mutated)
        cut = chance.randrange(len(vector.data))
        yield vector.data[:cut] + chance.randbytes(chance.randint(0, 4)) + vector.data[cut + 1 :]


@pytest.mark.parametrize("name", sorted({vector.message for vector in vectors()}))
def test_a_mutated_message_of_any_version_decodes_or_is_a_protocol_error(name: str) -> None:
    chance = random.Random(name)
    cls = message_classes()[name]
    for vector in vectors():
        if vector.message != name or not vector.data:
            continue
        for data in mutations(vector, chance):
            with contextlib.suppress(ProtocolError):
                # What is accepted is understood: written again, it is read as the same.
                encoded = cls.decode(data, vector.version).encode(vector.version)
                assert cls.decode(encoded, vector.version).encode(vector.version) == encoded


def test_every_truncation_of_a_message_is_a_protocol_error() -> None:
    for vector in vectors()[::7]:
        cls = message_classes()[vector.message]
        for end in range(0, len(vector.data), max(1, len(vector.data) // 40)):
            with pytest.raises(ProtocolError):
                cls.decode(vector.data[:end], vector.version)
            with pytest.raises(ProtocolError):
                cls.decode(vector.data, vector.version, 0, end)


@pytest.mark.parametrize(
    ("cls", "version", "data"),
    [
        (DescribeGroupsRequest, 0, MANY.to_bytes(4, "big")),  # array, legacy
        (DescribeGroupsRequest, 5, b"\xff\xff\xff\xff\x0f"),  # array, compact
        (SaslAuthenticateRequest, 1, MANY.to_bytes(4, "big")),  # bytes
        (SaslAuthenticateRequest, 2, b"\xff\xff\xff\xff\x0f"),
        (ProduceRequest, 3, b"\x7f\xff"),  # string
        (ProduceRequest, 9, b"\xff\xff\xff\xff\x0f"),
        (SaslAuthenticateRequest, 2, b"\x01\xff\xff\xff\xff\x0f"),  # number of tagged fields
        (SaslAuthenticateRequest, 2, b"\x01\x01\x00\xff\xff\xff\xff\x0f"),  # size of one
    ],
)
def test_lengths_are_held_against_the_bytes_left(
    cls: type[Message], version: int, data: bytes
) -> None:
    with pytest.raises(ProtocolError):
        cls.decode(data + bytes(50), version)


def test_a_count_is_held_against_the_smallest_size_of_its_elements() -> None:
    # A topic of CreateTopics v0 has at least 16 bytes, so 100 bytes cannot hold seven.
    with pytest.raises(ProtocolError, match="topics is longer"):
        CreateTopicsRequest.decode(b"\x00\x00\x00\x07" + bytes(100), 0)


@pytest.mark.parametrize(
    ("cls", "version", "data", "message"),
    [
        (ProduceRequest, 9, b"\x80\x80\x80\x80\x80\x01", "longer than 5 bytes"),
        (ProduceRequest, 9, b"\xff\xff\xff\xff\x7f", "does not fit"),
        (JoinGroupRequest, 0, b"\xff\xff", "group_id is null"),
        (JoinGroupRequest, 6, b"\x00", "group_id is null"),
        (MetadataRequest, 0, b"\x00\x00\x00\x01\xff\xff", "name is null"),
        (DescribeGroupsRequest, 0, b"\x00\x00\x00\x01\x00\x02\xff\xfe", "decode"),
    ],
)
def test_what_is_wrong_is_said(cls: type[Message], version: int, data: bytes, message: str) -> None:
    with pytest.raises(ProtocolError, match=f"^{cls.__name__} v{version}.*{message}"):
        cls.decode(data, version)


def test_bytes_after_a_response_are_a_protocol_error() -> None:
    encoded = FetchResponse().encode(4)
    with pytest.raises(ProtocolError, match="FetchResponse v4 is followed by 2 bytes"):
        FetchResponse.decode(encoded + b"\0\0", 4)


def test_a_known_tagged_field_must_have_the_size_it_states() -> None:
    # cluster_id of FetchRequest v12 is tag 0; here it says 3 bytes and has 2.
    body = bytes(12) + bytes(13) + b"\x01\x01\x01"
    good, bad = body + b"\x01\x00\x02\x02x", body + b"\x01\x00\x03\x02x\x00"
    cls = message_classes()["FetchRequest"]
    assert cls.decode(good, 12).cluster_id == "x"  # type: ignore[attr-defined]
    with pytest.raises(ProtocolError, match="tagged field 0 does not have the size"):
        cls.decode(bad, 12)
