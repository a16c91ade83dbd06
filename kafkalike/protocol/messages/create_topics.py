"""CreateTopics (19): topics are created with partitions or assignments and configs."""

from kafkalike.protocol.schema import define

TABLE = """
api 19 CreateTopics 0-7 flexible 5+
request
  topics                 [CreatableTopic]
    name                 string
    num_partitions       int32
    replication_factor   int16
    assignments          [CreatableReplicaAssignment]
      partition_index    int32
      broker_ids         [int32]
    configs              [CreateableTopicConfig]
      name               string
      value              ?string
  timeout_ms             int32 = 60000
  validate_only          bool 1+
response
  throttle_time_ms       int32 2+
  topics                 [CreatableTopicResult]
    name                 string
    topic_id             uuid 7+
    error_code           int16
    error_message        ?string 1+
    topic_config_error_code int16 5+ tag 0
    num_partitions       int32 5+ = -1
    replication_factor   int16 5+ = -1
    configs              ?[CreatableTopicConfigs] 5+
      name               string
      value              ?string
      read_only          bool
      config_source      int8 = -1
      is_sensitive       bool
"""

define(__name__, TABLE)
