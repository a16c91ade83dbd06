"""SaslAuthenticate (36): the tokens of a SASL exchange."""

from kafkalike.protocol.schema import define

TABLE = """
api 36 SaslAuthenticate 0-2 flexible 2+
request
  auth_bytes             bytes
response
  error_code             int16
  error_message          ?string
  auth_bytes             bytes
  session_lifetime_ms    int64 1+
"""

define(__name__, TABLE)
