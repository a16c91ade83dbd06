"""Guards of what is done to the cluster as a whole: it is allowed altogether, or not at all."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from kafkalike.protocol.api_keys import ApiKey, response_class
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.alter_client_quotas import (
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntryData,
)
from kafkalike.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from kafkalike.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from kafkalike.protocol.messages.create_acls import AclCreationResult, CreateAclsResponse
from kafkalike.protocol.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsResponse
from kafkalike.protocol.messages.describe_log_dirs import DescribeLogDirsResponse
from kafkalike.protocol.messages.elect_leaders import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from kafkalike.protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from kafkalike.protocol.schema import Message
from kafkalike.security.acl_operation import AclOperation
from kafkalike.server.authorization.authorization import Authorization
from kafkalike.server.authorization.guards import Guard, Proceed, guard

_DENIED: Final = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
_MESSAGE: Final = "Cluster authorization failed."

# Any: each API has request and response classes of its own.
Refuse = Callable[[Any], Message]


def _alter_replica_log_dirs(request: Any) -> Message:
    topics: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    for directory in request.dirs:
        for topic in directory.topics:
            topics.setdefault(topic.name, []).extend(
                AlterReplicaLogDirPartitionResult(partition_index=index, error_code=_DENIED)
                for index in topic.partitions
            )
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(topic_name=name, partitions=partitions)
            for name, partitions in topics.items()
        ]
    )


def _alter_user_scram_credentials(request: Any) -> Message:
    users = dict.fromkeys(one.name for one in (*request.deletions, *request.upsertions))
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(user=user, error_code=_DENIED, error_message=_MESSAGE)
            for user in users
        ]
    )


def _alter_client_quotas(request: Any) -> Message:
    return AlterClientQuotasResponse(
        entries=[
            AlterClientQuotasResponseEntryData(
                error_code=_DENIED, error_message=_MESSAGE, entity=entry.entity
            )
            for entry in request.entries
        ]
    )


def _create_acls(request: Any) -> Message:
    refused = AclCreationResult(error_code=_DENIED, error_message=_MESSAGE)
    return CreateAclsResponse(results=[refused] * len(request.creations))


def _delete_acls(request: Any) -> Message:
    refused = DeleteAclsFilterResult(error_code=_DENIED, error_message=_MESSAGE)
    return DeleteAclsResponse(filter_results=[refused] * len(request.filters))


def _elect_leaders(request: Any) -> Message:
    return ElectLeadersResponse(
        error_code=_DENIED,
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    PartitionResult(partition_id=number, error_code=_DENIED)
                    for number in topic.partition_id
                ],
            )
            for topic in request.topic_partitions or ()
        ],
    )


def _write_txn_markers(request: Any) -> Message:
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            WritableTxnMarkerPartitionResult(
                                partition_index=index, error_code=_DENIED
                            )
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )


def _whole(key: ApiKey) -> Refuse:
    """Refuse by the error code that the answer has for all."""
    kind = response_class(key)
    words = {field.name for field in kind.table.fields} & {"error_message"}

    def refuse(request: Any) -> Message:
        return kind(error_code=_DENIED, **dict.fromkeys(words, _MESSAGE))

    return refuse


def _nothing_to_see(request: Any) -> Message:
    # Kafka has no error for this one: a client that may not look sees no directories.
    return DescribeLogDirsResponse(results=[])


_Op = AclOperation
NEEDED: Final[Mapping[ApiKey, tuple[AclOperation, Refuse]]] = MappingProxyType(
    {
        ApiKey.LEADER_AND_ISR: (_Op.CLUSTER_ACTION, _whole(ApiKey.LEADER_AND_ISR)),
        ApiKey.STOP_REPLICA: (_Op.CLUSTER_ACTION, _whole(ApiKey.STOP_REPLICA)),
        ApiKey.UPDATE_METADATA: (_Op.CLUSTER_ACTION, _whole(ApiKey.UPDATE_METADATA)),
        ApiKey.CONTROLLED_SHUTDOWN: (_Op.CLUSTER_ACTION, _whole(ApiKey.CONTROLLED_SHUTDOWN)),
        ApiKey.ALTER_ISR: (_Op.CLUSTER_ACTION, _whole(ApiKey.ALTER_ISR)),
        ApiKey.WRITE_TXN_MARKERS: (_Op.CLUSTER_ACTION, _write_txn_markers),
        ApiKey.CREATE_ACLS: (_Op.ALTER, _create_acls),
        ApiKey.DELETE_ACLS: (_Op.ALTER, _delete_acls),
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: (
            _Op.ALTER,
            _whole(ApiKey.ALTER_PARTITION_REASSIGNMENTS),
        ),
        ApiKey.ELECT_LEADERS: (_Op.ALTER, _elect_leaders),
        ApiKey.UPDATE_FEATURES: (_Op.ALTER, _whole(ApiKey.UPDATE_FEATURES)),
        ApiKey.ALTER_REPLICA_LOG_DIRS: (_Op.ALTER, _alter_replica_log_dirs),
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (_Op.ALTER, _alter_user_scram_credentials),
        ApiKey.DESCRIBE_ACLS: (_Op.DESCRIBE, _whole(ApiKey.DESCRIBE_ACLS)),
        ApiKey.LIST_PARTITION_REASSIGNMENTS: (
            _Op.DESCRIBE,
            _whole(ApiKey.LIST_PARTITION_REASSIGNMENTS),
        ),
        ApiKey.DESCRIBE_LOG_DIRS: (_Op.DESCRIBE, _nothing_to_see),
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (
            _Op.DESCRIBE,
            _whole(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS),
        ),
        ApiKey.DESCRIBE_CLIENT_QUOTAS: (
            _Op.DESCRIBE_CONFIGS,
            _whole(ApiKey.DESCRIBE_CLIENT_QUOTAS),
        ),
        ApiKey.ALTER_CLIENT_QUOTAS: (_Op.ALTER_CONFIGS, _alter_client_quotas),
    }
)
"""What each API needs, and its answer to who may not."""


def _guard(operation: AclOperation, refuse: Refuse) -> Guard:
    async def guarded(
        authorization: Authorization, context: object, request: Any, proceed: Proceed
    ) -> Message | None:
        if not authorization.allows_cluster(operation):
            return refuse(request)
        answer: Message | None = await proceed(request)
        return answer

    return guarded


for _key, (_operation, _refuse) in NEEDED.items():
    guard(_key)(_guard(_operation, _refuse))
