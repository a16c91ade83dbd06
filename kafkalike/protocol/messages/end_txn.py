"""EndTxn (26): a transaction is committed or aborted."""

from kafkalike.protocol.schema import define

TABLE = """
api 26 EndTxn 0-3 flexible 3+
request
  transactional_id       string
  producer_id            int64
  producer_epoch         int16
  committed              bool
response
  throttle_time_ms       int32
  error_code             int16
"""

define(__name__, TABLE)
