"""ControlledShutdown (7): a broker that stops has its leaderships moved away."""

from kafkalike.protocol.schema import define

TABLE = """
api 7 ControlledShutdown 0-3 flexible 3+
request
  broker_id              int32
  broker_epoch           int64 2+ = -1
response
  error_code             int16
  remaining_partitions   [RemainingPartition]
    topic_name           string
    partition_index      int32
"""

define(__name__, TABLE)
