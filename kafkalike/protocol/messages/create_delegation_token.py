"""CreateDelegationToken (38): a delegation token is issued."""

from kafkalike.protocol.schema import define

TABLE = """
api 38 CreateDelegationToken 0-2 flexible 2+
request
  renewers               [CreatableRenewers]
    principal_type       string
    principal_name       string
  max_lifetime_ms        int64
response
  error_code             int16
  principal_type         string
  principal_name         string
  issue_timestamp_ms     int64
  expiry_timestamp_ms    int64
  max_timestamp_ms       int64
  token_id               string
  hmac                   bytes
  throttle_time_ms       int32
"""

define(__name__, TABLE)
