"""One class per znode: path, encode, decode, side by side (Kafka's `ZkData`), split by subject.

The order of JSON keys is Kafka's own, so that what we write cannot be told from what Kafka writes.
"""

from kafkalike.zk.znodes.acls import (
    AclChangeZNode,
    AclEntry,
    ExtendedAclChangeZNode,
    ResourcePattern,
    ResourceZNode,
)
from kafkalike.zk.znodes.admin import (
    DeleteTopicsTopicZNode,
    DeleteTopicsZNode,
    PreferredReplicaElectionZNode,
    ReassignPartitionsZNode,
)
from kafkalike.zk.znodes.brokers import BrokerIdsZNode, BrokerIdZNode, BrokerInfo
from kafkalike.zk.znodes.cluster import (
    ClusterIdZNode,
    FeatureStatus,
    FeatureZNode,
    FinalizedFeatures,
    ProducerIdBlock,
    ProducerIdBlockZNode,
)
from kafkalike.zk.znodes.configs import (
    ConfigChangeZNode,
    ConfigEntityTypeZNode,
    ConfigEntityZNode,
    ConfigType,
)
from kafkalike.zk.znodes.controllers import ControllerEpochZNode, ControllerInfo, ControllerZNode
from kafkalike.zk.znodes.layout import PERSISTENT_ZK_PATHS, default_acls
from kafkalike.zk.znodes.notifications import IsrChangeZNode, LogDirEvent, LogDirEventZNode
from kafkalike.zk.znodes.sanitizer import desanitize, sanitize
from kafkalike.zk.znodes.tokens import (
    DelegationTokenChangeZNode,
    DelegationTokenZNode,
    TokenInformation,
)
from kafkalike.zk.znodes.topics import (
    TopicIdReplicaAssignment,
    TopicPartitionStateZNode,
    TopicPartitionsZNode,
    TopicPartitionZNode,
    TopicsZNode,
    TopicZNode,
)

__all__ = [
    "PERSISTENT_ZK_PATHS",
    "AclChangeZNode",
    "AclEntry",
    "BrokerIdZNode",
    "BrokerIdsZNode",
    "BrokerInfo",
    "ClusterIdZNode",
    "ConfigChangeZNode",
    "ConfigEntityTypeZNode",
    "ConfigEntityZNode",
    "ConfigType",
    "ControllerEpochZNode",
    "ControllerInfo",
    "ControllerZNode",
    "DelegationTokenChangeZNode",
    "DelegationTokenZNode",
    "DeleteTopicsTopicZNode",
    "DeleteTopicsZNode",
    "ExtendedAclChangeZNode",
    "FeatureStatus",
    "FeatureZNode",
    "FinalizedFeatures",
    "IsrChangeZNode",
    "LogDirEvent",
    "LogDirEventZNode",
    "PreferredReplicaElectionZNode",
    "ProducerIdBlock",
    "ProducerIdBlockZNode",
    "ReassignPartitionsZNode",
    "ResourcePattern",
    "ResourceZNode",
    "TokenInformation",
    "TopicIdReplicaAssignment",
    "TopicPartitionStateZNode",
    "TopicPartitionZNode",
    "TopicPartitionsZNode",
    "TopicZNode",
    "TopicsZNode",
    "default_acls",
    "desanitize",
    "sanitize",
]
