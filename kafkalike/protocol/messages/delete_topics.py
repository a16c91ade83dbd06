"""DeleteTopics (20): topics are deleted, by name or id."""

from kafkalike.protocol.schema import define

TABLE = """
api 20 DeleteTopics 0-6 flexible 4+
request
  topics                 [DeleteTopicState] 6+
    name                 ?string
    topic_id             uuid
  topic_names            [string] 0-5
  timeout_ms             int32
response
  throttle_time_ms       int32 1+
  responses              [DeletableTopicResult]
    name                 string null 6+
    topic_id             uuid 6+
    error_code           int16
    error_message        ?string 5+ = null
"""

define(__name__, TABLE)
