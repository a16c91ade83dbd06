"""The admin client, and what it is given: the names of kafka-python's `kafka.admin`."""

from kafkalike.client.lazy_names import lazy_names

_VALUES = "kafkalike.client.admin.values"

_PLACES = {
    "KafkaAdminClient": "kafkalike.client.blocking_admin",
    "ACL": _VALUES,
    "ACLFilter": _VALUES,
    "ACLOperation": _VALUES,
    "ACLPermissionType": _VALUES,
    "ACLResourcePatternType": _VALUES,
    "AlterConfigOp": _VALUES,
    "ConfigResource": _VALUES,
    "ConfigResourceType": _VALUES,
    "ElectionType": _VALUES,
    "NewPartitions": _VALUES,
    "NewTopic": _VALUES,
    "OffsetSpec": _VALUES,
    "ResourcePattern": _VALUES,
    "ResourcePatternFilter": _VALUES,
    "ResourceType": _VALUES,
    "ScramMechanism": _VALUES,
}

__all__ = [*_PLACES]
__getattr__ = lazy_names(__name__, _PLACES)
