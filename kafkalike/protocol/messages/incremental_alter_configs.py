"""IncrementalAlterConfigs (44): single configs are set, deleted, appended to or subtracted from."""

from kafkalike.protocol.schema import define

TABLE = """
api 44 IncrementalAlterConfigs 0-1 flexible 1+
request
  resources              [AlterConfigsResource]
    resource_type        int8
    resource_name        string
    configs              [AlterableConfig]
      name               string
      config_operation   int8
      value              ?string
  validate_only          bool
response
  throttle_time_ms       int32
  responses              [AlterConfigsResourceResponse]
    error_code           int16
    error_message        ?string
    resource_type        int8
    resource_name        string
"""

define(__name__, TABLE)
