"""ExpireDelegationToken (40): a delegation token ends earlier, or at once."""

from kafkalike.protocol.schema import define

TABLE = """
api 40 ExpireDelegationToken 0-2 flexible 2+
request
  hmac                   bytes
  expiry_time_period_ms  int64
response
  error_code             int16
  expiry_timestamp_ms    int64
  throttle_time_ms       int32
"""

define(__name__, TABLE)
