# What `__getattr__` finds, for type checkers and editors; a test compares the two.
from kafkalike.client.admin.values import ACL as ACL
from kafkalike.client.admin.values import ACLFilter as ACLFilter
from kafkalike.client.admin.values import ACLOperation as ACLOperation
from kafkalike.client.admin.values import ACLPermissionType as ACLPermissionType
from kafkalike.client.admin.values import ACLResourcePatternType as ACLResourcePatternType
from kafkalike.client.admin.values import AlterConfigOp as AlterConfigOp
from kafkalike.client.admin.values import ConfigResource as ConfigResource
from kafkalike.client.admin.values import ConfigResourceType as ConfigResourceType
from kafkalike.client.admin.values import ElectionType as ElectionType
from kafkalike.client.admin.values import NewPartitions as NewPartitions
from kafkalike.client.admin.values import NewTopic as NewTopic
from kafkalike.client.admin.values import OffsetSpec as OffsetSpec
from kafkalike.client.admin.values import ResourcePattern as ResourcePattern
from kafkalike.client.admin.values import ResourcePatternFilter as ResourcePatternFilter
from kafkalike.client.admin.values import ResourceType as ResourceType
from kafkalike.client.admin.values import ScramMechanism as ScramMechanism
from kafkalike.client.blocking_admin import KafkaAdminClient as KafkaAdminClient
