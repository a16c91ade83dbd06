"""What a task of the sink does, against a real broker and without Spark."""

from collections import Counter

import pyarrow as pa
import pytest

from spark_pipeline.datasource.errors import DataSourceError
from spark_pipeline.datasource.sink_options import parse_sink_options
from spark_pipeline.datasource.task_writer import TaskWriter
from tests.spark.topics import committed_values, create_topic
from tests.support.broker import Broker


class Crash(BaseException):
    """Nobody catches it: the process is gone."""


def crash_at(wanted: str) -> "object":
    def at(point: str) -> None:
        if point == wanted:
            raise Crash

    return at


def a_writer(kafka: Broker, topic: str, crash: str = "", **options: str) -> TaskWriter:
    given = {"kafka.bootstrap.servers": kafka.bootstrap_servers, "topic": topic, **options}
    return TaskWriter(parse_sink_options(given), crash_at(crash))  # type: ignore[arg-type]


def rows(*values: str) -> list[pa.RecordBatch]:
    return [pa.RecordBatch.from_pydict({"value": list(values)})]


def test_repeated_batch_is_recognised_and_skipped(kafka: Broker) -> None:
    """M57: written exactly once."""
    create_topic(kafka, "repeated")
    writer = a_writer(kafka, "repeated")
    assert writer.write_once(rows("a", "b"), "repeated-0", 0) == 2
    assert writer.write_once(rows("a", "b"), "repeated-0", 0) is None
    assert writer.write_once(rows("c"), "repeated-0", 1) == 1
    assert writer.write_once(rows("c"), "repeated-0", 1) is None
    assert writer.write_once(rows("a", "b"), "repeated-1", 0) == 2  # another task
    assert Counter(committed_values(kafka, "repeated")) == {b"a": 2, b"b": 2, b"c": 1}


def test_attempt_that_dies_before_its_commit_is_never_seen(kafka: Broker) -> None:
    """M57: an aborted attempt is not visible, its repetition is."""
    create_topic(kafka, "before")
    with pytest.raises(Crash):
        a_writer(kafka, "before", "before commit").write_once(rows("a", "b"), "before-0", 4)
    assert a_writer(kafka, "before").write_once(rows("a", "b"), "before-0", 4) == 2
    assert Counter(committed_values(kafka, "before")) == {b"a": 1, b"b": 1}


def test_attempt_that_dies_after_its_commit_is_not_repeated(kafka: Broker) -> None:
    """M57: what was committed is not written again."""
    create_topic(kafka, "after")
    with pytest.raises(Crash):
        a_writer(kafka, "after", "after commit").write_once(rows("a", "b"), "after-0", 4)
    assert a_writer(kafka, "after").write_once(rows("a", "b"), "after-0", 4) is None
    assert Counter(committed_values(kafka, "after")) == {b"a": 1, b"b": 1}


def test_repeated_batch_with_other_rows_is_refused(kafka: Broker) -> None:
    create_topic(kafka, "other")
    writer = a_writer(kafka, "other")
    writer.write_once(rows("a", "b"), "other-0", 0)
    with pytest.raises(DataSourceError, match=r"batch 0 .* with 2 rows and now has 1"):
        writer.write_once(rows("a"), "other-0", 0)


def test_topics_of_rows_may_differ(kafka: Broker) -> None:
    create_topic(kafka, "north")
    create_topic(kafka, "south")
    given = {"kafka.bootstrap.servers": kafka.bootstrap_servers}
    writer = TaskWriter(parse_sink_options(given))
    batch = pa.RecordBatch.from_pydict({"topic": ["south", "north"], "value": ["1", "2"]})
    assert writer.write_once([batch], "both-0", 0) == 2
    assert writer.write_once([batch], "both-0", 0) is None
    assert committed_values(kafka, "north") == [b"2"]
    assert committed_values(kafka, "south") == [b"1"]


def test_task_without_rows_writes_nothing(kafka: Broker) -> None:
    assert a_writer(kafka, "none").write_once([], "none-0", 0) == 0


def test_at_least_once_writes_what_it_is_given_each_time(kafka: Broker) -> None:
    create_topic(kafka, "often")
    writer = a_writer(kafka, "often", delivery="at-least-once")
    assert writer.write_at_least_once(rows("a", "b")) == 2
    assert writer.write_at_least_once(rows("a", "b")) == 2
    assert Counter(committed_values(kafka, "often")) == {b"a": 2, b"b": 2}


def test_topic_that_does_not_exist_is_an_error_that_names_it(kafka: Broker) -> None:
    more = {"kafka.max.block.ms": "500", "kafka.allow.auto.create.topics": "false"}
    with pytest.raises(DataSourceError, match="nowhere"):
        a_writer(kafka, "nowhere", **more).write_once(rows("a"), "nowhere-0", 0)
