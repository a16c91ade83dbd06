"""AddOffsetsToTxn (25): the offsets of a group become part of a transaction."""

from kafkalike.protocol.schema import define

TABLE = """
api 25 AddOffsetsToTxn 0-3 flexible 3+
request
  transactional_id       string
  producer_id            int64
  producer_epoch         int16
  group_id               string
response
  throttle_time_ms       int32
  error_code             int16
"""

define(__name__, TABLE)
