"""UpdateFeatures (57): finalized feature versions are changed."""

from kafkalike.protocol.schema import define

TABLE = """
api 57 UpdateFeatures 0 flexible 0+
request
  timeout_ms             int32 = 60000
  feature_updates        [FeatureUpdateKey]
    feature              string
    max_version_level    int16
    allow_downgrade      bool
response
  throttle_time_ms       int32
  error_code             int16
  error_message          ?string
  results                [UpdatableFeatureResult]
    feature              string
    error_code           int16
    error_message        ?string
"""

define(__name__, TABLE)
