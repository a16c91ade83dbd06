"""SaslHandshake (17): client and broker agree on a SASL mechanism."""

from kafkalike.protocol.schema import define

TABLE = """
api 17 SaslHandshake 0-1
request
  mechanism              string
response
  error_code             int16
  mechanisms             [string]
"""

define(__name__, TABLE)
