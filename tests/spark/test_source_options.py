"""The options of the source: the same names and defaults as Spark's own Kafka source."""

import pickle

import pytest

from kafkalike.model.topic_partition import TopicPartition
from spark_pipeline.datasource.errors import OptionError
from spark_pipeline.datasource.source_options import SourceOptions, parse_source_options
from spark_pipeline.datasource.subscription import Subscription, parse_subscription

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
LEAST = {"kafka.bootstrap.servers": "host:9092", "subscribe": "a"}


def stream(**more: str) -> SourceOptions:
    return parse_source_options({**LEAST, **more}, is_streaming=True)


def batch(**more: str) -> SourceOptions:
    return parse_source_options({**LEAST, **more}, is_streaming=False)


def test_a_stream_begins_at_latest_and_a_batch_at_earliest() -> None:
    assert stream().starting.is_latest
    assert batch().starting.is_earliest
    assert batch().ending.is_latest


def test_defaults_are_those_of_sparks_own_source_but_reads_are_committed() -> None:
    options = stream()
    assert options.fail_on_data_loss
    assert not options.include_headers
    assert options.max_offsets_per_trigger is None
    assert options.poll_timeout_ms == 120_000
    assert options.max_trigger_delay_ms == 900_000
    assert options.kafka.isolation == 1


def test_names_do_not_depend_on_their_case() -> None:
    options = stream(MAXOFFSETSPERTRIGGER="10", failondataloss="FALSE", includeHeaders="true")
    assert options.max_offsets_per_trigger == 10
    assert not options.fail_on_data_loss
    assert options.include_headers


def test_one_time_for_all_goes_before_times_before_offsets() -> None:
    offsets = {"startingOffsets": "earliest"}
    times = {**offsets, "startingOffsetsByTimestamp": '{"a":{"0":7}}'}
    assert batch(**offsets).starting.is_earliest
    assert batch(**times).starting.of(A0) == 7
    assert batch(**times, startingTimestamp="9").starting.of(A0) == 9


def test_settings_of_kafka_pass_through() -> None:
    more = {"kafka.isolation.level": "read_uncommitted", "kafka.request.timeout.ms": "7000"}
    kafka = stream(**more).kafka
    assert kafka.isolation == 0
    assert kafka.request_timeout_ms == 7000
    assert kafka.bootstrap_servers == "host:9092"


def test_durations_are_written_as_spark_writes_them() -> None:
    assert stream(maxTriggerDelay="15m").max_trigger_delay_ms == 900_000
    assert stream(maxTriggerDelay="30s").max_trigger_delay_ms == 30_000
    assert stream(maxTriggerDelay="250").max_trigger_delay_ms == 250


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"maxOffsetsPerTrigger": "0"}, "option maxOffsetsPerTrigger: '0'"),
        ({"maxOffsetsPerTrigger": "many"}, "option maxOffsetsPerTrigger: 'many'"),
        ({"minPartitions": "-1"}, "option minPartitions"),
        ({"failOnDataLoss": "maybe"}, "option failOnDataLoss: 'maybe'"),
        ({"maxTriggerDelay": "soon"}, "option maxTriggerDelay: 'soon'"),
        ({"startingOffset": "earliest"}, "is startingOffsets meant"),
        ({"startingOffsetsByTimestampStrategy": "first"}, "none of error, latest"),
        ({"endingOffsets": "latest"}, "a stream has no end"),
        ({"kafka.auto.offset.reset": "earliest"}, "kafka.auto.offset.reset.*startingOffsets"),
        ({"kafka.value.deserializer": "x"}, "kafka.value.deserializer"),
        ({"kafka.reqest.timeout.ms": "1"}, "request_timeout_ms"),
        ({"kafka.isolation.level": "some"}, "isolation_level"),
        ({"kafka.bootstrap.servers": " "}, "kafka.bootstrap.servers is missing"),
        ({"assign": '{"a":[0]}'}, "exactly one of .* subscribe and assign are given"),
        ({"subscribe": " , "}, "names no topic"),
    ],
)
def test_a_wrong_option_is_an_error_that_names_it(more: dict[str, str], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        stream(**more)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"startingOffsets": "latest"}, "option startingOffsets: .* begin at latest"),
        ({"startingOffsets": '{"a":{"0":-1}}'}, "begin at latest .* in a-0"),
        ({"endingOffsets": "earliest"}, "option endingOffsets: .* end at earliest"),
        ({"endingOffsets": '{"a":{"0":-2}}'}, "end at earliest .* in a-0"),
    ],
)
def test_a_batch_cannot_begin_at_the_end(more: dict[str, str], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        batch(**more)


def test_options_of_others_are_let_through() -> None:
    stream(path="/somewhere", checkpointLocation="/elsewhere")


def test_options_can_be_sent_to_tasks() -> None:
    options = stream(startingOffsets='{"a":{"0":3}}', minPartitions="4")
    assert pickle.loads(pickle.dumps(options)) == options


def test_subscription_chooses_partitions_of_topics() -> None:
    named = parse_subscription({"subscribe": "a, c"})
    assert named.asked_topics == ("a", "c")
    assert named.choose({A0, A1, B0}) == {A0, A1}
    assert named.missing({A0, A1, B0}) == ["c"]


def test_subscription_by_pattern_matches_whole_names_and_leaves_internal_topics_out() -> None:
    fitting = parse_subscription({"subscribepattern": "[ab]|__.*"})
    offsets = TopicPartition("__consumer_offsets", 0)
    assert fitting.asked_topics is None
    assert fitting.choose({A0, B0, offsets, TopicPartition("ab", 0)}) == {A0, B0}
    with pytest.raises(OptionError, match="subscribePattern"):
        parse_subscription({"subscribepattern": "("})


def test_assigned_partitions_are_read_alone() -> None:
    assigned = Subscription(assigned=(A1, B0))
    assert assigned.asked_topics == ("a", "b")
    assert assigned.choose({A0, A1}) == {A1}
    assert assigned.missing({A0, A1}) == ["b-0"]
    with pytest.raises(OptionError, match="none is given"):
        parse_subscription({})
