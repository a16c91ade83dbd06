"""Which codec of ours reads which znode: the round trip of each path."""

import re
from collections.abc import Callable

from kafkalike.zk import znodes
from kafkalike.zk.znodes.acls import LITERAL_ROOT

RoundTrip = Callable[["re.Match[str]", bytes], bytes]

_TOPIC = r"[a-zA-Z0-9._-]+"

_ROUND_TRIPS: dict[str, RoundTrip] = {
    r"/brokers/ids/(\d+)": lambda m, data: znodes.BrokerIdZNode.encode(
        znodes.BrokerIdZNode.decode(int(m[1]), data)
    ),
    rf"/brokers/topics/({_TOPIC})": lambda m, data: _topic(m[1], data),
    rf"/brokers/topics/{_TOPIC}/partitions/\d+/state": lambda m, data: (
        znodes.TopicPartitionStateZNode.encode(znodes.TopicPartitionStateZNode.decode(data, 0))
    ),
    r"/cluster/id": lambda m, data: znodes.ClusterIdZNode.encode(
        znodes.ClusterIdZNode.decode(data)
    ),
    r"/config/changes/config_change_\d{10}": lambda m, data: znodes.ConfigChangeZNode.encode(
        znodes.ConfigChangeZNode.decode(data)
    ),
    r"/config/(topics|brokers|clients|users|ips)/.+": lambda m, data: (
        znodes.ConfigEntityZNode.encode(znodes.ConfigEntityZNode.decode(data))
    ),
    r"/controller": lambda m, data: znodes.ControllerZNode.encode(
        znodes.ControllerZNode.decode(data)
    ),
    r"/controller_epoch": lambda m, data: znodes.ControllerEpochZNode.encode(
        znodes.ControllerEpochZNode.decode(data)
    ),
    r"/feature": lambda m, data: znodes.FeatureZNode.encode(znodes.FeatureZNode.decode(data)),
    r"/latest_producer_id_block": lambda m, data: znodes.ProducerIdBlockZNode.encode(
        znodes.ProducerIdBlockZNode.decode(data)
    ),
    r"/isr_change_notification/isr_change_\d{10}": lambda m, data: znodes.IsrChangeZNode.encode(
        znodes.IsrChangeZNode.decode(data)
    ),
    r"/log_dir_event_notification/log_dir_event_\d{10}": lambda m, data: (
        znodes.LogDirEventZNode.encode(znodes.LogDirEventZNode.decode(data))
    ),
    r"/admin/reassign_partitions": lambda m, data: znodes.ReassignPartitionsZNode.encode(
        znodes.ReassignPartitionsZNode.decode(data)
    ),
    r"/admin/preferred_replica_election": lambda m, data: (
        znodes.PreferredReplicaElectionZNode.encode(
            znodes.PreferredReplicaElectionZNode.decode(data)
        )
    ),
    rf"({LITERAL_ROOT}|/kafka-acl-extended/\w+)/\w+/.+": lambda m, data: (
        znodes.ResourceZNode.encode(znodes.ResourceZNode.decode(data))
    ),
    r"/kafka-acl-changes/acl_changes_\d{10}": lambda m, data: znodes.AclChangeZNode.encode(
        znodes.AclChangeZNode.decode(data)
    ),
    r"/kafka-acl-extended-changes/acl_changes_\d{10}": lambda m, data: (
        znodes.ExtendedAclChangeZNode.encode(znodes.ExtendedAclChangeZNode.decode(data))
    ),
    r"/delegation_token/tokens/.+": lambda m, data: znodes.DelegationTokenZNode.encode(
        znodes.DelegationTokenZNode.decode(data)
    ),
    r"/delegation_token/token_changes/token_change_\d{10}": lambda m, data: (
        znodes.DelegationTokenChangeZNode.encode(znodes.DelegationTokenChangeZNode.decode(data))
    ),
}


def round_trip(path: str, data: bytes) -> bytes:
    """Decode and encode a znode's data with the one codec that reads its path."""
    found = [
        (match, code)
        for pattern, code in _ROUND_TRIPS.items()
        if (match := re.fullmatch(pattern, path))
    ]
    assert len(found) == 1, f"{len(found)} codecs read {path}"
    ((match, code),) = found
    return code(match, data)


def _topic(topic: str, data: bytes) -> bytes:
    decoded = znodes.TopicZNode.decode(topic, data)
    return znodes.TopicZNode.encode(decoded.topic_id, decoded.assignment)
