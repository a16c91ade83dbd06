"""OffsetDelete (47): stored offsets of a group are deleted."""

from kafkalike.protocol.schema import define

TABLE = """
api 47 OffsetDelete 0
request
  group_id               string
  topics                 [OffsetDeleteRequestTopic]
    name                 string
    partitions           [OffsetDeleteRequestPartition]
      partition_index    int32
response
  error_code             int16
  throttle_time_ms       int32
  topics                 [OffsetDeleteResponseTopic]
    name                 string
    partitions           [OffsetDeleteResponsePartition]
      partition_index    int32
      error_code         int16
"""

define(__name__, TABLE)
