"""What consumers put into JoinGroup and SyncGroup; brokers pass it on unread."""

from kafkalike.protocol.schema import define

TABLE = """
data ConsumerProtocolSubscription 0-1
  topics                 [string]
  user_data              ?bytes = null
  owned_partitions       [TopicPartition] 1+
    topic                string
    partitions           [int32]

data ConsumerProtocolAssignment 0-1
  assigned_partitions    [TopicPartition]
    topic                string
    partitions           [int32]
  user_data              ?bytes = null
"""

define(__name__, TABLE)
