import json
from typing import Any

import pytest

from kafkalike.cli.tools.message_formatters import formatter
from kafkalike.cli.tools.support.errors import JavaError
from kafkalike.client.consumer.consumer_record import ConsumerRecord
from kafkalike.protocol.coordinator_records import (
    encode_offset_commit_key,
    encode_offset_commit_value,
)
from kafkalike.protocol.messages.coordinator_records import OffsetCommitValue

DEFAULT = "kafka.tools.DefaultMessageFormatter"
GROUPS = r"kafka.coordinator.group.GroupMetadataManager\$"


def a_record(**changes: Any) -> ConsumerRecord:
    known = {
        "topic": "t",
        "partition": 2,
        "leader_epoch": 0,
        "offset": 7,
        "timestamp": 1_600_000_000_000,
        "timestamp_type": 0,
        "key": b"k",
        "value": b"v",
        "headers": [("h", b"1"), ("n", None)],
    }
    return ConsumerRecord(**known | changes)


def shown(name: str, record: ConsumerRecord, **properties: str) -> str:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    return formatter(name, named)(record).decode()


def test_value_alone_is_shown_by_default() -> None:
    assert shown(DEFAULT, a_record()) == "v\n"


def test_columns_come_in_kafkas_order() -> None:
    columns = ("timestamp", "partition", "offset", "headers", "key")
    asked = {f"print_{column}": "true" for column in columns}
    assert shown(DEFAULT, a_record(), **asked, key_separator="|") == (
        "CreateTime:1600000000000|Partition:2|Offset:7|h:1,n:null|k|v\n"
    )
    assert shown(DEFAULT, a_record(headers=[]), print_headers="true") == "NO_HEADERS\tv\n"


def test_null_has_a_word_of_ones_own() -> None:
    assert shown(DEFAULT, a_record(value=None)) == "null\n"
    assert shown(DEFAULT, a_record(value=None), null_literal="nix") == "nix\n"


def test_numbers_are_read_by_their_deserializer() -> None:
    kind = "org.apache.kafka.common.serialization.LongDeserializer"
    record = a_record(value=(5).to_bytes(8, "big"))
    assert shown(DEFAULT, record, value_deserializer=kind) == "5\n"
    with pytest.raises(JavaError, match="1 bytes are no such number"):
        shown(DEFAULT, a_record(), value_deserializer=kind)


def test_json_has_everything_and_bytes_in_base64() -> None:
    found = json.loads(shown("json", a_record(value=b"\xff")))
    assert found == {
        "topic": "t",
        "partition": 2,
        "offset": 7,
        "timestamp": 1_600_000_000_000,
        "timestamp_type": "CreateTime",
        "key": "k",
        "value": "b64:/w==",
        "headers": [["h", "1"], ["n", None]],
    }


def test_offsets_of_groups_are_readable() -> None:
    key = encode_offset_commit_key("g", "t", 0)
    value = OffsetCommitValue(offset=5, leader_epoch=-1, metadata="", commit_timestamp=9)
    record = a_record(key=key, value=encode_offset_commit_value(value, 3))
    assert shown(f"{GROUPS}OffsetsMessageFormatter", record).startswith(
        "[g,t,0]::OffsetAndMetadata(offset=5, leaderEpoch=Optional.empty, metadata=, commit"
    )
    assert shown(f"{GROUPS}GroupMetadataMessageFormatter", record) == ""


def test_formatters_may_be_python_functions() -> None:
    assert shown("builtins:len", a_record()) == f"{len(a_record())}\n"
    with pytest.raises(JavaError, match=r"com\.example\.Formatter"):
        formatter("com.example.Formatter", {})
    with pytest.raises(JavaError, match="nosuch:thing"):
        formatter("nosuch:thing", {})
