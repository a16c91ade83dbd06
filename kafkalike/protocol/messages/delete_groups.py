"""DeleteGroups (42): empty groups are deleted."""

from kafkalike.protocol.schema import define

TABLE = """
api 42 DeleteGroups 0-2 flexible 2+
request
  groups_names           [string]
response
  throttle_time_ms       int32
  results                [DeletableGroupResult]
    group_id             string
    error_code           int16
"""

define(__name__, TABLE)
