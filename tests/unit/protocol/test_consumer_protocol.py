import pytest

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.consumer_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.header import parse_request_header
from kafkalike.protocol.messages.join_group import JoinGroupRequest
from kafkalike.protocol.messages.sync_group import SyncGroupRequest
from kafkalike.protocol.versioned import encode_versioned, read_version
from tests.support.protocol_vectors import frames

LATER_FIELDS = {2: 4, 3: 4 + 2}
"""How many bytes later versions of the subscription add: a generation, then an empty rack."""


def captured_subscriptions() -> list[bytes]:
    return [
        protocol.metadata
        for frame in frames()
        if frame.is_request and frame.api_key == ApiKey.JOIN_GROUP
        for protocol in JoinGroupRequest.decode(
            frame.data, frame.version, parse_request_header(frame.data).body_start
        ).protocols
    ]


def captured_assignments() -> list[bytes]:
    return [
        assignment.assignment
        for frame in frames()
        if frame.is_request and frame.api_key == ApiKey.SYNC_GROUP
        for assignment in SyncGroupRequest.decode(
            frame.data, frame.version, parse_request_header(frame.data).body_start
        ).assignments
    ]


def test_subscriptions_of_real_clients_decode_and_encode_to_the_same_bytes() -> None:
    captured = captured_subscriptions()
    assert {read_version(data) for data in captured} >= {0, 1}
    for data in captured:
        version = read_version(data)
        if version > 1:  # kafka-python has version 3, with generation and rack at the end
            data = b"\0\1" + data[2 : -LATER_FIELDS[version]]
        assert encode_versioned(decode_subscription(data), min(version, 1)) == data


def test_assignments_of_real_clients_decode_and_encode_to_the_same_bytes() -> None:
    captured = captured_assignments()
    assert captured
    for data in captured:
        assert encode_versioned(decode_assignment(data), read_version(data)) == data


def test_subscription_names_sorted_topics_and_owned_partitions() -> None:
    owned = [TopicPartition("b", 1), TopicPartition("a", 0), TopicPartition("b", 0)]
    data = encode_subscription(["b", "a"], user_data=b"u", owned_partitions=owned)
    subscription = decode_subscription(data)
    assert read_version(data) == 1
    assert (subscription.topics, subscription.user_data) == (["a", "b"], b"u")
    assert [(tp.topic, tp.partitions) for tp in subscription.owned_partitions] == [
        ("a", [0]),
        ("b", [0, 1]),
    ]
    assert decode_subscription(encode_subscription(["a"], version=0)).owned_partitions == []


def test_assignment_groups_partitions_by_topic() -> None:
    partitions = [TopicPartition("b", 1), TopicPartition("a", 0), TopicPartition("b", 0)]
    assignment = decode_assignment(encode_assignment(partitions))
    assert [(tp.topic, tp.partitions) for tp in assignment.assigned_partitions] == [
        ("a", [0]),
        ("b", [0, 1]),
    ]
    assert assignment.user_data is None


def test_a_later_version_is_read_as_the_latest_known() -> None:
    data = encode_subscription(["a"], user_data=b"u")
    later = b"\x00\x07" + data[2:] + b"what later versions add"
    assert decode_subscription(later) == decode_subscription(data)


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xff\xff\x00\x00", b"\x00\x00\x00\x00\x00\x05"])
def test_malformed_payloads_are_protocol_errors(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_subscription(data)
    with pytest.raises(ProtocolError):
        decode_assignment(data)
