"""Fetch (1): a consumer or a follower reads record batches from partitions."""

from kafkalike.protocol.schema import define

TABLE = """
api 1 Fetch 0-12 flexible 12+
request
  cluster_id             ?string 12+ tag 0 = null
  replica_id             int32
  max_wait_ms            int32
  min_bytes              int32
  max_bytes              int32 3+ = 0x7fffffff
  isolation_level        int8 4+
  session_id             int32 7+
  session_epoch          int32 7+ = -1
  topics                 [FetchTopic]
    topic                string
    partitions           [FetchPartition]
      partition          int32
      current_leader_epoch int32 9+ = -1
      fetch_offset       int64
      last_fetched_epoch int32 12+ = -1
      log_start_offset   int64 5+ = -1
      partition_max_bytes int32
  forgotten_topics_data  [ForgottenTopic] 7+
    topic                string
    partitions           [int32]
  rack_id                string 11+
response
  throttle_time_ms       int32 1+
  error_code             int16 7+
  session_id             int32 7+
  responses              [FetchableTopicResponse]
    topic                string
    partition_responses  [FetchablePartitionResponse]
      partition          int32
      error_code         int16
      high_watermark     int64
      last_stable_offset int64 4+ = -1
      log_start_offset   int64 5+ = -1
      diverging_epoch    EpochEndOffset 12+ tag 0
        epoch            int32 = -1
        end_offset       int64 = -1
      current_leader     LeaderIdAndEpoch 12+ tag 1
        leader_id        int32 = -1
        leader_epoch     int32 = -1
      snapshot_id        SnapshotId 12+ tag 2
        end_offset       int64 = -1
        epoch            int32 = -1
      aborted_transactions ?[AbortedTransaction] 4+
        producer_id      int64
        first_offset     int64
      preferred_read_replica int32 11+ = -1
      record_set         ?records
"""

define(__name__, TABLE)
