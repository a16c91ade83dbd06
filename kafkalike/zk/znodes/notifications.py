"""Sequential znodes by which brokers tell the controller of ISR changes and failed log dirs."""

from collections.abc import Iterable
from typing import NamedTuple

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.zk.znodes.admin import decode_partitions, encode_partitions
from kafkalike.zk.znodes.json_data import encode_json, reading


class IsrChangeZNode:
    """`/isr_change_notification/isr_change_<n>`: a leader changed an ISR (before AlterIsr)."""

    ROOT = "/isr_change_notification"
    PREFIX = "isr_change_"
    CREATE_PATH = f"{ROOT}/{PREFIX}"

    @staticmethod
    def path(sequence_number: str) -> str:
        """Where the notification of this number is."""
        return f"{IsrChangeZNode.CREATE_PATH}{sequence_number}"

    @staticmethod
    def sequence_number(name: str) -> str:
        """Give the number of a notification's name or path."""
        return name.rpartition(IsrChangeZNode.PREFIX)[2]

    @staticmethod
    def encode(partitions: Iterable[TopicPartition]) -> bytes:
        """Write the partitions whose ISR changed."""
        return encode_partitions(partitions)

    @staticmethod
    def decode(data: bytes | None) -> tuple[TopicPartition, ...]:
        """Read the partitions whose ISR changed."""
        return decode_partitions(data, IsrChangeZNode.ROOT)


class LogDirEvent(NamedTuple):
    """Something happened to a log directory of this broker; 1, a failure, is all that can."""

    broker_id: int
    event: int = 1


class LogDirEventZNode:
    """`/log_dir_event_notification/log_dir_event_<n>`: a broker lost a log directory."""

    ROOT = "/log_dir_event_notification"
    PREFIX = "log_dir_event_"
    CREATE_PATH = f"{ROOT}/{PREFIX}"

    @staticmethod
    def path(sequence_number: str) -> str:
        """Where the notification of this number is."""
        return f"{LogDirEventZNode.CREATE_PATH}{sequence_number}"

    @staticmethod
    def sequence_number(name: str) -> str:
        """Give the number of a notification's name or path."""
        return name.rpartition(LogDirEventZNode.PREFIX)[2]

    @staticmethod
    def encode(event: LogDirEvent) -> bytes:
        """Write whose directory failed."""
        return encode_json({"version": 1, "broker": event.broker_id, "event": event.event})

    @staticmethod
    def decode(data: bytes | None) -> LogDirEvent:
        """Read whose directory failed."""
        with reading(data, LogDirEventZNode.ROOT) as value:
            return LogDirEvent(int(value["broker"]), int(value["event"]))
