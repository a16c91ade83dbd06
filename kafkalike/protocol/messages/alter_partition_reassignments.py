"""AlterPartitionReassignments (45): partitions move to other replicas, or stay after all."""

from kafkalike.protocol.schema import define

TABLE = """
api 45 AlterPartitionReassignments 0 flexible 0+
request
  timeout_ms             int32 = 60000
  topics                 [ReassignableTopic]
    name                 string
    partitions           [ReassignablePartition]
      partition_index    int32
      replicas           ?[int32] = null
response
  throttle_time_ms       int32
  error_code             int16
  error_message          ?string
  responses              [ReassignableTopicResponse]
    name                 string
    partitions           [ReassignablePartitionResponse]
      partition_index    int32
      error_code         int16
      error_message      ?string
"""

define(__name__, TABLE)
