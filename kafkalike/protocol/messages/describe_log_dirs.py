"""DescribeLogDirs (35): log directories, and the size and lag of the replicas in them."""

from kafkalike.protocol.schema import define

TABLE = """
api 35 DescribeLogDirs 0-2 flexible 2+
request
  topics                 ?[DescribableLogDirTopic]
    topic                string
    partition_index      [int32]
response
  throttle_time_ms       int32
  results                [DescribeLogDirsResult]
    error_code           int16
    log_dir              string
    topics               [DescribeLogDirsTopic]
      name               string
      partitions         [DescribeLogDirsPartition]
        partition_index  int32
        partition_size   int64
        offset_lag       int64
        is_future_key    bool
"""

define(__name__, TABLE)
