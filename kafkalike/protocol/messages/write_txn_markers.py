"""WriteTxnMarkers (27): a transaction coordinator has transaction markers written."""

from kafkalike.protocol.schema import define

TABLE = """
api 27 WriteTxnMarkers 0-1 flexible 1+
request
  markers                [WritableTxnMarker]
    producer_id          int64
    producer_epoch       int16
    transaction_result   bool
    topics               [WritableTxnMarkerTopic]
      name               string
      partition_indexes  [int32]
    coordinator_epoch    int32
response
  markers                [WritableTxnMarkerResult]
    producer_id          int64
    topics               [WritableTxnMarkerTopicResult]
      name               string
      partitions         [WritableTxnMarkerPartitionResult]
        partition_index  int32
        error_code       int16
"""

define(__name__, TABLE)
