"""DescribeClientQuotas (48): the quotas that match a filter."""

from kafkalike.protocol.schema import define

TABLE = """
api 48 DescribeClientQuotas 0-1 flexible 1+
request
  components             [ComponentData]
    entity_type          string
    match_type           int8
    match                ?string
  strict                 bool
response
  throttle_time_ms       int32
  error_code             int16
  error_message          ?string
  entries                ?[EntryData]
    entity               [EntityData]
      entity_type        string
      entity_name        ?string
    values               [ValueData]
      key                string
      value              float64
"""

define(__name__, TABLE)
