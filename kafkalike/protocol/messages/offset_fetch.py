"""OffsetFetch (9): a group asks how far it has read."""

from kafkalike.protocol.schema import define

TABLE = """
api 9 OffsetFetch 0-7 flexible 6+
request
  group_id               string
  topics                 [OffsetFetchRequestTopic] null 2+
    name                 string
    partition_indexes    [int32]
  require_stable         bool 7+
response
  throttle_time_ms       int32 3+
  topics                 [OffsetFetchResponseTopic]
    name                 string
    partitions           [OffsetFetchResponsePartition]
      partition_index    int32
      committed_offset   int64
      committed_leader_epoch int32 5+ = -1
      metadata           ?string
      error_code         int16
  error_code             int16 2+
"""

define(__name__, TABLE)
