"""AlterClientQuotas (49): quotas of users, clients and addresses are set or removed."""

from kafkalike.protocol.schema import define

TABLE = """
api 49 AlterClientQuotas 0-1 flexible 1+
request
  entries                [AlterClientQuotasRequestEntryData]
    entity               [EntityData]
      entity_type        string
      entity_name        ?string
    ops                  [OpData]
      key                string
      value              float64
      remove             bool
  validate_only          bool
response
  throttle_time_ms       int32
  entries                [AlterClientQuotasResponseEntryData]
    error_code           int16
    error_message        ?string
    entity               [EntityData]
      entity_type        string
      entity_name        ?string
"""

define(__name__, TABLE)
