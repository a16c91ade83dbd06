"""StopReplica (5): the controller tells a broker to stop, and perhaps delete, replicas."""

from kafkalike.protocol.schema import define

TABLE = """
api 5 StopReplica 0-3 flexible 2+
request
  controller_id          int32
  controller_epoch       int32
  broker_epoch           int64 1+ = -1
  delete_partitions      bool 0-2
  ungrouped_partitions   [StopReplicaPartitionV0] 0
    topic_name           string
    partition_index      int32
  topics                 [StopReplicaTopicV1] 1-2
    name                 string
    partition_indexes    [int32]
  topic_states           [StopReplicaTopicState] 3+
    topic_name           string
    partition_states     [StopReplicaPartitionState]
      partition_index    int32
      leader_epoch       int32 = -1
      delete_partition   bool
response
  error_code             int16
  partition_errors       [StopReplicaPartitionError]
    topic_name           string
    partition_index      int32
    error_code           int16
"""

define(__name__, TABLE)
