"""LeaderAndIsr (4): the controller tells a broker which partitions it leads or follows."""

from kafkalike.protocol.schema import define

TABLE = """
api 4 LeaderAndIsr 0-5 flexible 4+
struct LeaderAndIsrPartitionState
  topic_name             string 0-1
  partition_index        int32
  controller_epoch       int32
  leader                 int32
  leader_epoch           int32
  isr                    [int32]
  zk_version             int32
  replicas               [int32]
  adding_replicas        [int32] 3+
  removing_replicas      [int32] 3+
  is_new                 bool 1+
request
  controller_id          int32
  controller_epoch       int32
  broker_epoch           int64 2+ = -1
  type                   int8 5+
  ungrouped_partition_states [LeaderAndIsrPartitionState] 0-1
  topic_states           [LeaderAndIsrTopicState] 2+
    topic_name           string
    topic_id             uuid 5+
    partition_states     [LeaderAndIsrPartitionState]
  live_leaders           [LeaderAndIsrLiveLeader]
    broker_id            int32
    host_name            string
    port                 int32
struct LeaderAndIsrPartitionError
  topic_name             string 0-4
  partition_index        int32
  error_code             int16
response
  error_code             int16
  partition_errors       [LeaderAndIsrPartitionError] 0-4
  topics                 [LeaderAndIsrTopicError] 5+
    topic_id             uuid
    partition_errors     [LeaderAndIsrPartitionError]
"""

define(__name__, TABLE)
