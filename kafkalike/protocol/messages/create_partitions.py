"""CreatePartitions (37): topics receive more partitions."""

from kafkalike.protocol.schema import define

TABLE = """
api 37 CreatePartitions 0-3 flexible 2+
request
  topics                 [CreatePartitionsTopic]
    name                 string
    count                int32
    assignments          ?[CreatePartitionsAssignment]
      broker_ids         [int32]
  timeout_ms             int32
  validate_only          bool
response
  throttle_time_ms       int32
  results                [CreatePartitionsTopicResult]
    name                 string
    error_code           int16
    error_message        ?string = null
"""

define(__name__, TABLE)
