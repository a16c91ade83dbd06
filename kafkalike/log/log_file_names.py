"""Names of the files and directories of a log: `<topic>-<partition>/<base offset>.log` and so on.

Part of Kafka's `Log` (its companion object).
"""

import re
import uuid
from pathlib import Path

from kafkalike.model.topic_partition import TopicPartition

LOG_FILE_SUFFIX = ".log"
INDEX_FILE_SUFFIX = ".index"
TIME_INDEX_FILE_SUFFIX = ".timeindex"
TXN_INDEX_FILE_SUFFIX = ".txnindex"
PRODUCER_SNAPSHOT_FILE_SUFFIX = ".snapshot"
DELETED_FILE_SUFFIX = ".deleted"
CLEANED_FILE_SUFFIX = ".cleaned"
SWAP_FILE_SUFFIX = ".swap"
CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"
DELETE_DIR_SUFFIX = "-delete"
FUTURE_DIR_SUFFIX = "-future"
INDEX_SUFFIXES = (INDEX_FILE_SUFFIX, TIME_INDEX_FILE_SUFFIX, TXN_INDEX_FILE_SUFFIX)

_MAX_FILE_NAME = 255
_MARKED_DIR = re.compile(r"(\S+)-(\S+)\.(\S+)-(?:delete|future)")


def segment_file(directory: Path, base_offset: int, kind: str, suffix: str = "") -> Path:
    """Return the path of a segment's file of a kind such as `.log`."""
    return directory / f"{base_offset:020d}{kind}{suffix}"


def offset_from_file(file: Path) -> int:
    """Return the base offset in a file's name."""
    return int(file.name.split(".", 1)[0])


def log_dir_name(tp: TopicPartition) -> str:
    """Return the directory name of a partition."""
    return str(tp)


def log_future_dir_name(tp: TopicPartition) -> str:
    """Return a directory name for a replica that is moving in from another log directory."""
    return f"{tp}.{uuid.uuid4().hex}{FUTURE_DIR_SUFFIX}"


def log_delete_dir_name(tp: TopicPartition) -> str:
    """Return a directory name for a log that is to be deleted; a long topic name is cut."""
    suffix = f"-{tp.partition}.{uuid.uuid4().hex}{DELETE_DIR_SUFFIX}"
    return tp.topic[: _MAX_FILE_NAME - len(suffix)] + suffix


def parse_topic_partition_name(directory: Path) -> TopicPartition:
    """Return the partition that a directory is named after; anything else is a `ValueError`."""
    name = directory.name
    if name.endswith((DELETE_DIR_SUFFIX, FUTURE_DIR_SUFFIX)) and _MARKED_DIR.fullmatch(name):
        name = name[: name.rindex(".")]
    topic, dash, partition = name.rpartition("-")
    if not (topic and dash and partition.isascii() and partition.isdigit()):
        raise ValueError(
            f"Found directory {directory}, '{directory.name}' is not in the form of "
            "topic-partition or topic-partition.uniqueId-delete (if marked for deletion).\n"
            "Kafka's log directories (and children) should only contain Kafka topic data."
        )
    return TopicPartition(topic, int(partition))


def is_index_file(file: Path) -> bool:
    """Whether a file is an offset, time or transaction index."""
    return file.name.endswith(INDEX_SUFFIXES)


def is_log_file(file: Path) -> bool:
    """Whether a file holds the records of a segment."""
    return file.name.endswith(LOG_FILE_SUFFIX)
