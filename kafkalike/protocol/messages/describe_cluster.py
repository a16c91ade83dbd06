"""DescribeCluster (60): cluster id, controller and brokers."""

from kafkalike.protocol.schema import define

TABLE = """
api 60 DescribeCluster 0 flexible 0+
request
  include_cluster_authorized_operations bool
response
  throttle_time_ms       int32
  error_code             int16
  error_message          ?string = null
  cluster_id             string
  controller_id          int32 = -1
  brokers                [DescribeClusterBroker]
    broker_id            int32
    host                 string
    port                 int32
    rack                 ?string = null
  cluster_authorized_operations int32 = -2147483648
"""

define(__name__, TABLE)
