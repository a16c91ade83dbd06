import pytest

from kafkalike.cli.tools.offset_reset import (
    format_plan,
    parse_datetime_ms,
    parse_duration_ms,
    parse_partitions,
    parse_plan,
    shifted,
    within_range,
)
from kafkalike.cli.tools.support.errors import IllegalArgumentError, JavaError
from kafkalike.model.topic_partition import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
DAY_MS = 86_400_000


def test_topic_may_name_partitions() -> None:
    assert parse_partitions("t") is None
    assert parse_partitions("t:0,1") == [T0, T1]
    with pytest.raises(JavaError, match="For input string"):
        parse_partitions("t:a")


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("P1D", DAY_MS),
        ("PT1H", 3_600_000),
        ("P1DT2H3M4.5S", DAY_MS + 7_384_500),
        ("-PT5S", -5000),
        ("PT-1.5S", -1500),
        ("pt1m", 60_000),
    ],
)
def test_durations_are_those_of_java(text: str, milliseconds: int) -> None:
    assert parse_duration_ms(text) == milliseconds


@pytest.mark.parametrize("text", ["", "P", "PT", "1D", "P1Y", "P1DT"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(JavaError, match="cannot be parsed"):
        parse_duration_ms(text)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("1970-01-02T00:00:00.000", DAY_MS),
        ("1970-01-01T00:00:00.250Z", 250),
        ("1970-01-01T01:00:00+01:00", 0),
    ],
)
def test_times_are_in_utc_unless_they_say_otherwise(text: str, milliseconds: int) -> None:
    assert parse_datetime_ms(text) == milliseconds


@pytest.mark.parametrize("text", ["1970-01-01", "1970-01-01Tmidnight"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(JavaError):
        parse_datetime_ms(text)


def test_plan_that_was_written_can_be_read() -> None:
    plan = {"g": {T0: 5, T1: 6}, "h": {T0: 7}}
    assert parse_plan(format_plan(plan, with_group=True), ["g", "h"]) == plan
    assert parse_plan(format_plan({"g": {T0: 5}}, with_group=False), ["g"]) == {"g": {T0: 5}}


def test_line_that_is_no_plan_is_shown() -> None:
    with pytest.raises(IllegalArgumentError, match="'t,0' is not group,topic,partition,offset"):
        parse_plan("t,0\n", ["g"])


def test_offsets_are_brought_into_the_log_with_a_warning() -> None:
    found, warnings = within_range({T0: -5, T1: 99}, {T0: 3, T1: 0}, {T0: 9, T1: 9})
    assert found == {T0: 3, T1: 9}
    assert warnings == [
        (
            "New offset (-5) is lower than earliest offset for topic partition t-0. "
            "Value will be set to 3"
        ),
        (
            "New offset (99) is higher than latest offset for topic partition t-1. "
            "Value will be set to 9"
        ),
    ]


def test_shift_needs_an_offset_to_begin_with() -> None:
    assert shifted([T0], {T0: 5}, -2) == {T0: 3}
    with pytest.raises(IllegalArgumentError, match="no current committed offset"):
        shifted([T1], {T0: 5}, 1)
