import copy
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from kafkalike.protocol.api_keys import ApiKey, request_class
from kafkalike.protocol.errors import ErrorCode, ProtocolError
from kafkalike.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalike.protocol.messages.fetch import (
    EpochEndOffset,
    FetchablePartitionResponse,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
)
from kafkalike.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafkalike.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalike.protocol.schema import define


def fetch_response(records: object) -> FetchResponse:
    partition = FetchablePartitionResponse(partition=1, high_watermark=9, record_set=records)  # type: ignore[arg-type]
    topic = FetchableTopicResponse(topic="t", partition_responses=[partition])
    return FetchResponse(responses=[topic])


class FileRange:
    """Something to send that is not in memory."""

    def __len__(self) -> int:
        return 100


def test_fields_have_the_defaults_of_the_table() -> None:
    request = FetchRequest()
    assert (request.max_bytes, request.session_epoch, request.rack_id) == (0x7FFFFFFF, -1, "")
    assert (request.cluster_id, request.topics) == (None, [])
    assert FetchablePartitionResponse().diverging_epoch == EpochEndOffset(epoch=-1, end_offset=-1)


def test_a_fetch_asks_by_offset_and_size_alone() -> None:
    """M8: no field of the request could filter, query or sort."""
    assert {field.name for field in FetchPartition.table.fields} == {
        "partition",
        "current_leader_epoch",
        "fetch_offset",
        "last_fetched_epoch",
        "log_start_offset",
        "partition_max_bytes",
    }
    assert not [
        field.name
        for key in ApiKey
        for field in request_class(key).table.fields
        if {"query", "sort", "order", "where"} & set(field.name.split("_"))
    ]


def test_default_arrays_are_not_shared() -> None:
    FetchRequest().topics.append(None)  # type: ignore[arg-type]
    assert FetchRequest().topics == []
    encoded = FetchRequest().encode(4)
    FetchRequest.decode(encoded, 4).forgotten_topics_data.append(None)  # type: ignore[arg-type]
    assert FetchRequest.decode(encoded, 4).forgotten_topics_data == []


def test_default_structs_are_shared_and_refuse_to_be_changed() -> None:
    partition = FetchablePartitionResponse()
    with pytest.raises(AttributeError, match="assign a new EpochEndOffset"):
        partition.diverging_epoch.epoch = 3
    partition.diverging_epoch = EpochEndOffset(epoch=3)
    assert partition.diverging_epoch.epoch == 3


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(TypeError):
        FetchRequest(no_such_field=1)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        FetchRequest().no_such_field = 1  # type: ignore[attr-defined]


def test_structs_are_equal_when_type_and_fields_are() -> None:
    assert EpochEndOffset(epoch=1) == EpochEndOffset(epoch=1)
    assert EpochEndOffset(epoch=1) != EpochEndOffset(epoch=2)
    assert EpochEndOffset() != LeaderIdAndEpoch()
    assert EpochEndOffset() != 1
    changed = EpochEndOffset()
    changed.unknown_tagged_fields = {5: b"x"}
    assert changed != EpochEndOffset()
    assert copy.deepcopy(changed) == changed
    with pytest.raises(TypeError):
        hash(EpochEndOffset())


def test_repr_shows_fields_but_not_the_content_of_bytes() -> None:
    data = PartitionProduceData(index=3, records=b"secret")
    assert repr(data) == "PartitionProduceData(index=3, records=<6 bytes>)"
    data.unknown_tagged_fields = {1: b"x"}
    assert "unknown_tagged_fields={1: b'x'}" in repr(data)


def test_fields_that_a_version_lacks_are_left_out_and_decode_to_their_default() -> None:
    request = ApiVersionsRequest(client_software_name="me", client_software_version="1")
    assert request.encode(2) == b""
    assert ApiVersionsRequest.decode(b"", 2) == ApiVersionsRequest()
    assert ApiVersionsRequest.decode(request.encode(3), 3) == request


@pytest.mark.parametrize("version", [-1, 4, 32767])
def test_a_version_out_of_range_is_a_protocol_error_that_names_the_range(version: int) -> None:
    with pytest.raises(ProtocolError, match=f"versions 0 to 3, not {version}"):
        ApiVersionsRequest.decode(b"", version)
    with pytest.raises(ProtocolError, match=f"versions 0 to 3, not {version}"):
        ApiVersionsRequest().encode(version)


def test_error_codes_are_encoded_as_numbers() -> None:
    encoded = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION).encode(0)
    assert encoded == b"\x00\x23\x00\x00\x00\x00"


@pytest.mark.parametrize("count", [0, 1, 16, 17, 200])
@pytest.mark.parametrize("version", [8, 9])
def test_arrays_of_numbers_of_any_length_may_be_any_sequence(count: int, version: int) -> None:
    responses = [
        MetadataResponse(
            topics=[MetadataResponseTopic(partitions=[MetadataResponsePartition(isr_nodes=isr)])]
        )
        for isr in (tuple(range(count)), list(range(count)))
    ]
    encoded, same = (response.encode(version) for response in responses)
    assert encoded == same
    assert MetadataResponse.decode(encoded, version) == responses[1]


def test_records_are_views_of_the_buffer() -> None:
    data = TopicProduceData(name="t", partition_data=[PartitionProduceData(records=b"records")])
    for version in (8, 9):
        buffer = ProduceRequest(topic_data=[data]).encode(version)
        records = ProduceRequest.decode(buffer, version).topic_data[0].partition_data[0].records
        assert isinstance(records, memoryview)
        assert records.obj is buffer
        assert bytes(records) == b"records"


@pytest.mark.parametrize("version", [4, 11, 12])
def test_records_are_encoded_uncopied_whatever_they_are(version: int) -> None:
    records = FileRange()
    out: list[object] = [b"header"]
    fetch_response(records).encode_into(version, out)
    [index] = [index for index, part in enumerate(out) if part is records]
    assert out[0] == b"header"
    in_memory: list[bytes] = [
        bytes(100) if part is records else part  # type: ignore[misc]
        for part in out[1:]
    ]
    assert index > 0
    assert b"".join(in_memory) == fetch_response(bytes(100)).encode(version)


def test_known_tagged_fields_are_written_only_when_they_differ_from_the_default() -> None:
    response = fetch_response(None)
    plain = response.encode(12)
    partition = response.responses[0].partition_responses[0]
    partition.diverging_epoch = EpochEndOffset()
    assert response.encode(12) == plain
    partition.diverging_epoch = EpochEndOffset(epoch=4, end_offset=2)
    assert len(response.encode(12)) == len(plain) + 2 + 13
    assert FetchResponse.decode(response.encode(12), 12) == response


@pytest.mark.parametrize("tag", [9, 127, 128, 2**32 - 1])
def test_unknown_tagged_fields_survive_decoding_and_encoding(tag: int) -> None:
    response = fetch_response(None)
    partition = response.responses[0].partition_responses[0]
    partition.current_leader = LeaderIdAndEpoch(leader_id=1)  # known, tag 1
    for struct in (response, response.responses[0], partition, partition.current_leader):
        struct.unknown_tagged_fields = {tag: b"later" * 100, 8: b""}
    encoded = response.encode(12)
    decoded = FetchResponse.decode(encoded, 12)
    assert decoded == response
    assert decoded.responses[0].unknown_tagged_fields == {tag: b"later" * 100, 8: b""}
    assert decoded.encode(12) == encoded
    assert FetchResponse.decode(decoded.encode(11), 11).unknown_tagged_fields is None


def test_null_is_none_where_the_version_has_it() -> None:
    assert MetadataRequest(topics=None).encode(1) == b"\xff\xff\xff\xff"
    assert MetadataRequest.decode(b"\xff\xff\xff\xff", 1).topics is None
    with pytest.raises(ProtocolError, match="topics is null"):
        MetadataRequest.decode(b"\xff\xff\xff\xff", 0)


@pytest.fixture
def module() -> Iterator[ModuleType]:
    module = sys.modules["example_messages"] = ModuleType("example_messages")
    yield module
    del sys.modules["example_messages"]


def test_define_refuses_two_different_structs_of_one_name(module: ModuleType) -> None:
    table = "data A 0\n  item Item\n    x int8\ndata B 0\n  item Item\n    y int8"
    with pytest.raises(SyntaxError, match="two different structs named Item"):
        define("example_messages", table)


def test_define_shares_the_class_of_equal_structs(module: ModuleType) -> None:
    define("example_messages", "data A 0\n  i I\n    x int8\ndata B 0\n  i I\n    x int8")
    assert type(module.A.decode(b"\1", 0).i) is type(module.B.decode(b"\1", 0).i) is module.I
