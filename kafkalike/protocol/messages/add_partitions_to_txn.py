"""AddPartitionsToTxn (24): partitions become part of a transaction."""

from kafkalike.protocol.schema import define

TABLE = """
api 24 AddPartitionsToTxn 0-3 flexible 3+
request
  transactional_id       string
  producer_id            int64
  producer_epoch         int16
  topics                 [AddPartitionsToTxnTopic]
    name                 string
    partitions           [int32]
response
  throttle_time_ms       int32
  results                [AddPartitionsToTxnTopicResult]
    name                 string
    results              [AddPartitionsToTxnPartitionResult]
      partition_index    int32
      error_code         int16
"""

define(__name__, TABLE)
