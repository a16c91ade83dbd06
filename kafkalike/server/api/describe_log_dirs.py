"""DescribeLogDirs (35): log directories, and the size and lag of the replicas in them.

v2 flexible
"""

from collections.abc import Callable
from pathlib import Path

from kafkalike.log.log import Log
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api

INVALID_OFFSET_LAG = -1


@api(ApiKey.DESCRIBE_LOG_DIRS, versions="0-2")
async def handle(
    context: RequestContext, request: DescribeLogDirsRequest
) -> DescribeLogDirsResponse:
    """Describe every directory; of the replicas those that are asked for, or all."""
    log_manager = context.broker.log_manager
    asked = _asked(request)
    results = []
    for path in (*log_manager.live_log_dirs, *log_manager.offline_log_dirs):
        result = DescribeLogDirsResult(log_dir=str(path))
        if log_manager.is_log_dir_online(path):
            result.topics = _topics(context, path, asked)
        else:
            result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        results.append(result)
    return DescribeLogDirsResponse(results=results)


def _asked(request: DescribeLogDirsRequest) -> Callable[[TopicPartition], bool]:
    if request.topics is None:
        return lambda _: True
    wanted = {
        TopicPartition(topic.topic, partition)
        for topic in request.topics
        for partition in topic.partition_index
    }
    return wanted.__contains__


def _topics(
    context: RequestContext, path: Path, asked: Callable[[TopicPartition], bool]
) -> list[DescribeLogDirsTopic]:
    """Give every topic of a directory, also those of which nothing was asked (as Kafka does)."""
    topics: dict[str, DescribeLogDirsTopic] = {}
    for log in context.broker.log_manager.logs_in_dir(path):
        topic = topics.setdefault(log.tp.topic, DescribeLogDirsTopic(name=log.tp.topic))
        if asked(log.tp):
            topic.partitions.append(_partition(context, log))
    return list(topics.values())


def _partition(context: RequestContext, log: Log) -> DescribeLogDirsPartition:
    return DescribeLogDirsPartition(
        partition_index=log.tp.partition,
        partition_size=log.size,
        offset_lag=_offset_lag(context, log),
        is_future_key=log.is_future,
    )


def _offset_lag(context: RequestContext, log: Log) -> int:
    """How far a replica is behind: a future one behind the current, a current behind the leader."""
    current = context.broker.replica_manager.get_log(log.tp)
    if current is None:
        return INVALID_OFFSET_LAG
    if log.is_future:
        return current.log_end_offset - log.log_end_offset
    return max(current.high_watermark - log.log_end_offset, 0)
