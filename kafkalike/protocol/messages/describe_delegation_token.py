"""DescribeDelegationToken (41): the delegation tokens of owners."""

from kafkalike.protocol.schema import define

TABLE = """
api 41 DescribeDelegationToken 0-2 flexible 2+
request
  owners                 ?[DescribeDelegationTokenOwner]
    principal_type       string
    principal_name       string
response
  error_code             int16
  tokens                 [DescribedDelegationToken]
    principal_type       string
    principal_name       string
    issue_timestamp      int64
    expiry_timestamp     int64
    max_timestamp        int64
    token_id             string
    hmac                 bytes
    renewers             [DescribedDelegationTokenRenewer]
      principal_type     string
      principal_name     string
  throttle_time_ms       int32
"""

define(__name__, TABLE)
