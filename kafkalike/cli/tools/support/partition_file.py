"""JSON files that name partitions, as several of Kafka's tools take them."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kafkalike.cli.tools.support.errors import JavaError
from kafkalike.model.topic_partition import TopicPartition


class AdminOperationError(JavaError):
    """`kafka.admin.AdminOperationException`."""

    def __init__(self, message: str) -> None:
        super().__init__("kafka.admin.AdminOperationException", message)


class AdminCommandFailedError(JavaError):
    """`kafka.common.AdminCommandFailedException`."""

    def __init__(self, message: str) -> None:
        super().__init__("kafka.common.AdminCommandFailedException", message)


def read_text(path: str) -> str:
    """Read a file that was named on the command line."""
    try:
        return Path(path).read_text()
    except OSError as error:
        raise JavaError("java.nio.file.NoSuchFileException", path) from error


def parse_json(text: str, problem: str) -> Any:
    """Read JSON; `problem` is what to say if it is none."""
    try:
        return json.loads(text)
    except ValueError:
        raise AdminOperationError(problem) from None


def partition_of(entry: Any) -> TopicPartition:
    """Read `{"topic": "foo", "partition": 1}`."""
    try:
        return TopicPartition(str(entry["topic"]), int(entry["partition"]))
    except (KeyError, TypeError, ValueError):
        raise JavaError(
            "com.fasterxml.jackson.databind.JsonMappingException",
            f"each of the partitions needs a topic and a partition, but found {entry}",
        ) from None


def duplicates(partitions: Sequence[TopicPartition]) -> str:
    """Return the partitions that occur several times, with commas between."""
    return ",".join(str(tp) for tp, times in Counter(partitions).items() if times > 1)
