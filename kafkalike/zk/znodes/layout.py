"""The znodes that a broker makes sure of at start-up, and who may touch what in a secured tree."""

from kafkalike.zk.ops import CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE, Acl
from kafkalike.zk.znodes.admin import DeleteTopicsZNode
from kafkalike.zk.znodes.brokers import BrokerIdsZNode
from kafkalike.zk.znodes.cluster import ProducerIdBlockZNode
from kafkalike.zk.znodes.configs import ConfigChangeZNode, ConfigEntityTypeZNode, ConfigType
from kafkalike.zk.znodes.consumers import ConsumerOffsetZNode
from kafkalike.zk.znodes.notifications import IsrChangeZNode, LogDirEventZNode
from kafkalike.zk.znodes.tokens import DelegationTokenZNode
from kafkalike.zk.znodes.topics import TopicsZNode

BROKER_SEQUENCE_ID_PATH = "/brokers/seqid"

# In Kafka's order.
PERSISTENT_ZK_PATHS = (
    ConsumerOffsetZNode.ROOT,
    BrokerIdsZNode.PATH,
    TopicsZNode.PATH,
    ConfigChangeZNode.ROOT,
    DeleteTopicsZNode.PATH,
    BROKER_SEQUENCE_ID_PATH,
    IsrChangeZNode.ROOT,
    ProducerIdBlockZNode.PATH,
    LogDirEventZNode.ROOT,
    *(ConfigEntityTypeZNode.path(kind) for kind in ConfigType),
)

_SENSITIVE_ROOTS = (
    ConfigEntityTypeZNode.path(ConfigType.USER),
    ConfigEntityTypeZNode.path(ConfigType.BROKER),
    DelegationTokenZNode.ROOT,
)


def default_acls(is_secure: bool, path: str) -> tuple[Acl, ...]:
    """Give a new znode's access list; `is_secure` is `zookeeper.set.acl`.

    Old consumers write below their path themselves, so that stays open.
    """
    if not is_secure or path == ConsumerOffsetZNode.ROOT:
        return OPEN_ACL_UNSAFE
    if path.startswith(_SENSITIVE_ROOTS):
        return CREATOR_ALL_ACL
    return CREATOR_ALL_ACL + READ_ACL_UNSAFE
