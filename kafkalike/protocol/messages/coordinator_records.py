"""Keys and values of the records in `__consumer_offsets` and `__transaction_state`."""

from kafkalike.protocol.schema import define

TABLE = """
data OffsetCommitKey 0-1
  group                  string
  topic                  string
  partition              int32

data OffsetCommitValue 0-3
  offset                 int64
  leader_epoch           int32 3+ = -1
  metadata               string
  commit_timestamp       int64
  expire_timestamp       int64 1 = -1

data GroupMetadataKey 2
  group                  string

data GroupMetadataValue 0-3
  protocol_type          string
  generation             int32
  protocol               ?string
  leader                 ?string
  current_state_timestamp int64 2+ = -1
  members                [MemberMetadata]
    member_id            string
    group_instance_id    ?string 3+ = null
    client_id            string
    client_host          string
    rebalance_timeout    int32 1+
    session_timeout      int32
    subscription         bytes
    assignment           bytes

data TransactionLogKey 0
  transactional_id       string

data TransactionLogValue 0
  producer_id            int64
  producer_epoch         int16
  transaction_timeout_ms int32
  transaction_status     int8
  transaction_partitions ?[PartitionsSchema]
    topic                string
    partition_ids        [int32]
  transaction_last_update_timestamp_ms int64
  transaction_start_timestamp_ms int64
"""

define(__name__, TABLE)
