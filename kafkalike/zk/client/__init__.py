"""KafkaZkClient by subject; use it as `from kafkalike.zk.client import KafkaZkClient`."""

from kafkalike.zk.client.controllers import ControllerEpoch
from kafkalike.zk.client.kafka_zk_client import KafkaZkClient
from kafkalike.zk.client.partitions import UpdateLeaderAndIsrResult

__all__ = ["ControllerEpoch", "KafkaZkClient", "UpdateLeaderAndIsrResult"]
