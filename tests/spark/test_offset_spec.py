"""Where to begin and end, as options say it."""

import json

import pytest

from kafkalike.model.topic_partition import TopicPartition
from spark_pipeline.datasource.errors import OptionError
from spark_pipeline.datasource.offset_spec import (
    flatten,
    nest,
    parse_assignment,
    parse_global_timestamp,
    parse_offset_spec,
    parse_timestamp_spec,
)

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def test_words_are_for_all_partitions() -> None:
    assert parse_offset_spec("startingOffsets", "Earliest").of(A0) == -2
    assert parse_offset_spec("startingOffsets", " latest ").of(A1) == -1


def test_json_has_an_offset_for_each_partition() -> None:
    spec = parse_offset_spec("startingOffsets", '{"a":{"0":23,"1":-1},"b":{"0":-2}}')
    assert [spec.of(tp) for tp in (A0, A1, B0)] == [23, -1, -2]
    spec.check_covers({A0, A1, B0})


@pytest.mark.parametrize(
    ("read", "why"),
    [({A0, A1}, "lacks a-1"), (set(), "has a-0, which is not read")],
)
def test_offsets_must_have_exactly_the_partitions_that_are_read(
    read: set[TopicPartition], why: str
) -> None:
    spec = parse_offset_spec("startingOffsets", '{"a":{"0":23}}')
    with pytest.raises(OptionError, match=f"option startingOffsets .*{why}"):
        spec.check_covers(read)


@pytest.mark.parametrize(
    "text",
    [
        "soon",
        "{",
        "[]",
        "{}",
        '{"a":3}',
        '{"a":{"x":1}}',
        '{"a":{"0":"1"}}',
        '{"a":{"0":true}}',
        '{"a":{"0":1.5}}',
        '{"a":{"0":-3}}',
    ],
)
def test_malformed_offsets_are_an_error_that_names_the_option(text: str) -> None:
    with pytest.raises(OptionError, match="option endingOffsets"):
        parse_offset_spec("endingOffsets", text)


def test_times_are_for_all_or_for_each() -> None:
    assert parse_global_timestamp("startingTimestamp", "1000").of(A0) == 1000
    spec = parse_timestamp_spec("startingOffsetsByTimestamp", '{"a":{"0":5,"1":6}}')
    assert spec.is_timestamp
    assert spec.of(A1) == 6
    for text in ("-5", "soon", ""):
        with pytest.raises(OptionError, match="startingTimestamp"):
            parse_global_timestamp("startingTimestamp", text)
    with pytest.raises(OptionError, match="below 0"):
        parse_timestamp_spec("startingOffsetsByTimestamp", '{"a":{"0":-1}}')


def test_assignment_names_partitions() -> None:
    assert parse_assignment("assign", '{"b":[0],"a":[1,0]}') == (A0, A1, B0)
    for text in ('{"a":0}', '{"a":["0"]}', "a"):
        with pytest.raises(OptionError, match="option assign"):
            parse_assignment("assign", text)


def test_json_of_offsets_has_one_order_whatever_theirs() -> None:
    one = nest({A1: 2, B0: 3, A0: 1, TopicPartition("a", 10): 4})
    other = nest({TopicPartition("a", 10): 4, A0: 1, B0: 3, A1: 2})
    assert json.dumps(one) == json.dumps(other)
    assert json.dumps(one) == '{"a": {"0": 1, "1": 2, "10": 4}, "b": {"0": 3}}'
    assert flatten(one)[TopicPartition("a", 10)] == 4
