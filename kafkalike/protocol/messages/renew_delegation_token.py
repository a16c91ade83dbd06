"""RenewDelegationToken (39): a delegation token lives longer."""

from kafkalike.protocol.schema import define

TABLE = """
api 39 RenewDelegationToken 0-2 flexible 2+
request
  hmac                   bytes
  renew_period_ms        int64
response
  error_code             int16
  expiry_timestamp_ms    int64
  throttle_time_ms       int32
"""

define(__name__, TABLE)
