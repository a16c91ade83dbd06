"""AlterIsr (56): a leader asks the controller to change its in-sync replicas."""

from kafkalike.protocol.schema import define

TABLE = """
api 56 AlterIsr 0 flexible 0+
request
  broker_id              int32
  broker_epoch           int64 = -1
  topics                 [AlterIsrRequestTopicData]
    name                 string
    partitions           [AlterIsrRequestPartitionData]
      partition_index    int32
      leader_epoch       int32
      new_isr            [int32]
      current_isr_version int32
response
  throttle_time_ms       int32
  error_code             int16
  topics                 [AlterIsrResponseTopicData]
    name                 string
    partitions           [AlterIsrResponsePartitionData]
      partition_index    int32
      error_code         int16
      leader_id          int32
      leader_epoch       int32
      isr                [int32]
      current_isr_version int32
"""

define(__name__, TABLE)
