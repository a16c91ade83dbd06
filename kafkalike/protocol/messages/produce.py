"""Produce (0): a producer appends record batches to partitions."""

from kafkalike.protocol.schema import define

TABLE = """
api 0 Produce 0-9 flexible 9+
request
  transactional_id       ?string 3+ = null
  acks                   int16
  timeout_ms             int32
  topic_data             [TopicProduceData]
    name                 string
    partition_data       [PartitionProduceData]
      index              int32
      records            ?records
response
  responses              [TopicProduceResponse]
    name                 string
    partition_responses  [PartitionProduceResponse]
      index              int32
      error_code         int16
      base_offset        int64
      log_append_time_ms int64 2+ = -1
      log_start_offset   int64 5+ = -1
      record_errors      [BatchIndexAndErrorMessage] 8+
        batch_index      int32
        batch_index_error_message ?string = null
      error_message      ?string 8+ = null
  throttle_time_ms       int32 1+
"""

define(__name__, TABLE)
