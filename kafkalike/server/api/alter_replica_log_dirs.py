"""AlterReplicaLogDirs (34): replicas move to another log directory of the same broker (KIP-113).

v2 flexible
"""

from twisted.logger import Logger

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode, KafkaError, NotLeaderOrFollowerError
from kafkalike.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api

log = Logger()


@api(ApiKey.ALTER_REPLICA_LOG_DIRS, versions="0-2")
async def handle(
    context: RequestContext, request: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse:
    """Begin to move each replica; of two directories for one replica the last counts."""
    wanted = {
        TopicPartition(topic.name, partition): directory.path
        for directory in request.dirs
        for topic in directory.topics
        for partition in topic.partitions
    }
    topics: dict[str, AlterReplicaLogDirTopicResult] = {}
    for tp, path in wanted.items():
        topic = topics.setdefault(tp.topic, AlterReplicaLogDirTopicResult(topic_name=tp.topic))
        topic.partitions.append(
            AlterReplicaLogDirPartitionResult(
                partition_index=tp.partition, error_code=_alter(context, tp, path)
            )
        )
    return AlterReplicaLogDirsResponse(results=list(topics.values()))


def _alter(context: RequestContext, tp: TopicPartition, path: str) -> ErrorCode:
    try:
        context.broker.log_dir_mover.alter_replica_log_dir(tp, path)
    except KafkaError as error:
        log.warn("{tp} cannot be moved to {path}: {error}", tp=tp, path=path, error=error)
        if isinstance(error, NotLeaderOrFollowerError):
            return ErrorCode.REPLICA_NOT_AVAILABLE  # what clients of this API were always told
        return error.code
    return ErrorCode.NONE
