"""KafkaZkClient: everything that brokers, the controller and the tools ask of ZooKeeper.

Kafka's class of 2000 lines, cut by subject; the method names are Kafka's.
"""

from kafkalike.zk.client.acls import AclsClient
from kafkalike.zk.client.admin import AdminClient
from kafkalike.zk.client.brokers import BrokersClient
from kafkalike.zk.client.cluster import ClusterClient
from kafkalike.zk.client.configs import ConfigsClient
from kafkalike.zk.client.consumers import ConsumersClient
from kafkalike.zk.client.controllers import ControllersClient
from kafkalike.zk.client.notifications import NotificationsClient
from kafkalike.zk.client.partitions import PartitionsClient
from kafkalike.zk.client.tokens import TokensClient
from kafkalike.zk.client.topics import TopicsClient


class KafkaZkClient(
    BrokersClient,
    ControllersClient,
    ClusterClient,
    TopicsClient,
    PartitionsClient,
    ConfigsClient,
    AdminClient,
    NotificationsClient,
    AclsClient,
    TokensClient,
    ConsumersClient,
):
    """`KafkaZkClient(zk, is_secure=False, max_in_flight_requests=10)`; `zk` is a ZooKeeper.

    Methods raise a ZkError when ZooKeeper refuses or the session is over, and wait while the
    connection is away. Where a method takes `expected_controller_epoch_zk_version`, the write is
    part of a `multi` that fails with ControllerMovedError once another controller is elected.
    """
