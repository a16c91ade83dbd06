"""UpdateMetadata (6): the controller sends every broker the state of the cluster."""

from kafkalike.protocol.schema import define

TABLE = """
api 6 UpdateMetadata 0-7 flexible 6+
struct UpdateMetadataPartitionState
  topic_name             string 0-4
  partition_index        int32
  controller_epoch       int32
  leader                 int32
  leader_epoch           int32
  isr                    [int32]
  zk_version             int32
  replicas               [int32]
  offline_replicas       [int32] 4+
request
  controller_id          int32
  controller_epoch       int32
  broker_epoch           int64 5+ = -1
  ungrouped_partition_states [UpdateMetadataPartitionState] 0-4
  topic_states           [UpdateMetadataTopicState] 5+
    topic_name           string
    topic_id             uuid 7+
    partition_states     [UpdateMetadataPartitionState]
  live_brokers           [UpdateMetadataBroker]
    id                   int32
    v0_host              string 0
    v0_port              int32 0
    endpoints            [UpdateMetadataEndpoint] 1+
      port               int32
      host               string
      listener           string 3+
      security_protocol  int16
    rack                 ?string 2+
response
  error_code             int16
"""

define(__name__, TABLE)
