import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.header import (
    RequestHeader,
    ResponseHeader,
    encode_request_header,
    parse_request_header,
    parse_response_header,
    request_header_version,
    response_header_bytes,
    response_header_version,
)
from kafkalike.protocol.messages import headers
from tests.support.protocol_vectors import GOLDEN


def test_flexible_messages_have_flexible_headers() -> None:
    assert request_header_version(ApiKey.PRODUCE, 8) == 1
    assert request_header_version(ApiKey.PRODUCE, 9) == 2
    assert response_header_version(ApiKey.PRODUCE, 8) == 0
    assert response_header_version(ApiKey.PRODUCE, 9) == 1
    assert request_header_version(ApiKey.SASL_HANDSHAKE, 1) == 1
    assert request_header_version(ApiKey.DESCRIBE_CLUSTER, 0) == 2


def test_api_versions_answers_with_the_oldest_header_in_every_version() -> None:
    assert request_header_version(ApiKey.API_VERSIONS, 3) == 2
    assert response_header_version(ApiKey.API_VERSIONS, 3) == 0
    assert response_header_bytes(ApiKey.API_VERSIONS, 3, 5) == bytes([0, 0, 0, 5])


def test_controlled_shutdown_0_has_no_client_id() -> None:
    assert request_header_version(ApiKey.CONTROLLED_SHUTDOWN, 0) == 0
    assert request_header_version(ApiKey.CONTROLLED_SHUTDOWN, 1) == 1
    header = encode_request_header(ApiKey.CONTROLLED_SHUTDOWN, 0, 5, None)
    assert len(header) == 8
    assert parse_request_header(header + b"body") == RequestHeader(7, 0, 5, None, 8)


keys_and_versions = st.sampled_from([(key, version) for key in ApiKey for version in key.versions])
client_ids = st.none() | st.text(st.characters(codec="utf-8"), max_size=300)


@given(keys_and_versions, st.integers(-(2**31), 2**31 - 1), client_ids)
def test_request_headers_round_trip(
    key_and_version: tuple[ApiKey, int], correlation_id: int, client_id: str | None
) -> None:
    encoded = encode_request_header(*key_and_version, correlation_id, client_id)
    if request_header_version(*key_and_version) == 0:
        client_id = None
    expected = RequestHeader(*key_and_version, correlation_id, client_id, 3 + len(encoded))
    assert parse_request_header(b"xyz" + encoded + b"body", 3) == expected


@given(keys_and_versions, st.integers(-(2**31), 2**31 - 1))
def test_response_headers_round_trip(
    key_and_version: tuple[ApiKey, int], correlation_id: int
) -> None:
    encoded = response_header_bytes(*key_and_version, correlation_id)
    parsed = parse_response_header(b"xyz" + encoded + b"body", *key_and_version, 3)
    assert parsed == ResponseHeader(correlation_id, 3 + len(encoded))
    table_header = headers.ResponseHeader(correlation_id=correlation_id)
    assert encoded == table_header.encode(response_header_version(*key_and_version))


def test_header_of_an_unknown_version_is_read_like_the_latest() -> None:
    golden = json.loads((GOLDEN / "api_versions.json").read_text(encoding="utf-8"))
    frame = bytes.fromhex(golden["request_v99_hex"])
    assert parse_request_header(frame) == RequestHeader(18, 99, 3, "golden", len(frame))


def test_tagged_fields_of_the_header_are_passed_over() -> None:
    header = encode_request_header(ApiKey.PRODUCE, 9, 5, "me")[:-1] + b"\x01\x63\x02hi"
    assert parse_request_header(header + b"body").body_start == len(header)
    assert parse_response_header(b"\0\0\0\x05\x01\x63\x02hi", ApiKey.PRODUCE, 9).body_start == 9


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\x00\x00\x00\x09\x00\x00\x00\x01\x00",  # no client id length
        b"\x00\x00\x00\x09\x00\x00\x00\x01\x00\x05me",  # client id cut off
        b"\x00\x00\x00\x09\x00\x00\x00\x01\x00\x02me",  # no tagged fields
        b"\x00\x00\x00\x09\x00\x00\x00\x01\x00\x02me\x01\x00\xff\x01",  # tag past the end
        b"\x00\x00\x00\x09\x00\x00\x00\x01\x00\x02\xff\xff\x00",  # not UTF-8
        b"\x03\xe8\x00\x00\x00\x00\x00\x01\x00\x02me",  # no such API
    ],
)
def test_malformed_request_headers_are_protocol_errors(frame: bytes) -> None:
    with pytest.raises(ProtocolError):
        parse_request_header(frame)


def test_a_header_that_reaches_past_its_range_is_cut_off() -> None:
    frame = encode_request_header(ApiKey.PRODUCE, 3, 5, "client")
    with pytest.raises(ProtocolError, match="cut off"):
        parse_request_header(frame, 0, len(frame) - 1)
