"""OffsetCommit (8): a group stores how far it has read."""

from kafkalike.protocol.schema import define

TABLE = """
api 8 OffsetCommit 0-8 flexible 8+
request
  group_id               string
  generation_id          int32 1+ = -1
  member_id              string 1+
  group_instance_id      ?string 7+ = null
  retention_time_ms      int64 2-4 = -1
  topics                 [OffsetCommitRequestTopic]
    name                 string
    partitions           [OffsetCommitRequestPartition]
      partition_index    int32
      committed_offset   int64
      committed_leader_epoch int32 6+ = -1
      commit_timestamp   int64 1 = -1
      committed_metadata ?string
response
  throttle_time_ms       int32 3+
  topics                 [OffsetCommitResponseTopic]
    name                 string
    partitions           [OffsetCommitResponsePartition]
      partition_index    int32
      error_code         int16
"""

define(__name__, TABLE)
