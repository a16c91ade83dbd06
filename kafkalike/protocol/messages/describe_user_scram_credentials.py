"""DescribeUserScramCredentials (50): mechanisms and iterations of SCRAM credentials."""

from kafkalike.protocol.schema import define

TABLE = """
api 50 DescribeUserScramCredentials 0 flexible 0+
request
  users                  ?[UserName]
    name                 string
response
  throttle_time_ms       int32
  error_code             int16
  error_message          ?string
  results                [DescribeUserScramCredentialsResult]
    user                 string
    error_code           int16
    error_message        ?string
    credential_infos     [CredentialInfo]
      mechanism          int8
      iterations         int32
"""

define(__name__, TABLE)
