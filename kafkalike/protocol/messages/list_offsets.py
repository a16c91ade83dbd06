"""ListOffsets (2): the offset that belongs to a timestamp, or the earliest or latest offset."""

from kafkalike.protocol.schema import define

TABLE = """
api 2 ListOffsets 0-6 flexible 6+
request
  replica_id             int32
  isolation_level        int8 2+
  topics                 [ListOffsetsTopic]
    name                 string
    partitions           [ListOffsetsPartition]
      partition_index    int32
      current_leader_epoch int32 4+ = -1
      timestamp          int64
      max_num_offsets    int32 0 = 1
response
  throttle_time_ms       int32 2+
  topics                 [ListOffsetsTopicResponse]
    name                 string
    partitions           [ListOffsetsPartitionResponse]
      partition_index    int32
      error_code         int16
      old_style_offsets  [int64] 0
      timestamp          int64 1+ = -1
      offset             int64 1+ = -1
      leader_epoch       int32 4+ = -1
"""

define(__name__, TABLE)
