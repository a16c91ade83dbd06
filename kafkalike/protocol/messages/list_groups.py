"""ListGroups (16): the groups that a broker coordinates."""

from kafkalike.protocol.schema import define

TABLE = """
api 16 ListGroups 0-4 flexible 3+
request
  states_filter          [string] 4+
response
  throttle_time_ms       int32 1+
  error_code             int16
  groups                 [ListedGroup]
    group_id             string
    protocol_type        string
    group_state          string 4+
"""

define(__name__, TABLE)
