"""ElectLeaders (43): leaders are elected, the preferred or any live replica."""

from kafkalike.protocol.schema import define

TABLE = """
api 43 ElectLeaders 0-2 flexible 2+
request
  election_type          int8 1+
  topic_partitions       ?[TopicPartitions]
    topic                string
    partition_id         [int32]
  timeout_ms             int32 = 60000
response
  throttle_time_ms       int32
  error_code             int16 1+
  replica_election_results [ReplicaElectionResult]
    topic                string
    partition_result     [PartitionResult]
      partition_id       int32
      error_code         int16
      error_message      ?string
"""

define(__name__, TABLE)
