"""FindCoordinator (10): which broker coordinates a group or a transactional id."""

from kafkalike.protocol.schema import define

TABLE = """
api 10 FindCoordinator 0-3 flexible 3+
request
  key                    string
  key_type               int8 1+
response
  throttle_time_ms       int32 1+
  error_code             int16
  error_message          ?string 1+
  node_id                int32
  host                   string
  port                   int32
"""

define(__name__, TABLE)
