"""The headers before every request and response.

`kafkalike.protocol.header` knows which version of them goes with which message.
"""

from kafkalike.protocol.schema import define

TABLE = """
data RequestHeader 0-2 flexible 2+
  request_api_key        int16
  request_api_version    int16
  correlation_id         int32
  client_id              ?string 1+ legacy

data ResponseHeader 0-1 flexible 1+
  correlation_id         int32
"""

define(__name__, TABLE)
