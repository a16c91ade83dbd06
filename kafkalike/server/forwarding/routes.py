"""Which APIs are forwarded, and how: one line each.

Fetch is not here: only its handler knows the partitions of a session (`forwarding/fetch.py`). All
other APIs are answered by the broker that is asked.
"""

from collections.abc import Coroutine, Mapping
from types import MappingProxyType
from typing import Any, Final, Protocol

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.schema import Message
from kafkalike.replication.fetch_params import CONSUMER_REPLICA_ID, DEBUGGING_REPLICA_ID
from kafkalike.security.acl_operation import AclOperation
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import Api
from kafkalike.server.forwarding import layout
from kafkalike.server.forwarding.groups_route import GatewayListRoute, GroupsRoute
from kafkalike.server.forwarding.leader_route import LeaderRoute
from kafkalike.server.forwarding.owner_route import (
    OwnerRoute,
    controller,
    group_coordinator,
    transaction_coordinator,
)
from kafkalike.server.forwarding.produce_route import ProduceRoute


class Route(Protocol):
    """Stands between the dispatcher and the handler of an API."""

    # Any: each API has a request class of its own.
    def handle(
        self, api: Api, context: RequestContext, request: Any
    ) -> Coroutine[Any, Any, Message | None]:
        """Let the API answer, or forward what it cannot answer."""


# Whether records were deleted is not known: a code that says just that, and may be retried.
_UNKNOWN: Final = ErrorCode.REQUEST_TIMED_OUT
_READ_AGAIN: Final = ErrorCode.NOT_LEADER_OR_FOLLOWER
_CONSUMER: Final = (CONSUMER_REPLICA_ID,)
# Before v3 OffsetForLeaderEpoch does not say who asks.
_NO_FOLLOWER: Final = (CONSUMER_REPLICA_ID, DEBUGGING_REPLICA_ID)
_BY_LEADER: Final[Mapping[int, Route]] = {
    ApiKey.PRODUCE: ProduceRoute(),
    ApiKey.LIST_OFFSETS: LeaderRoute(
        layout.LIST_OFFSETS,
        AclOperation.DESCRIBE,
        outcome_unknown=_READ_AGAIN,
        replica_ids=_CONSUMER,
    ),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: LeaderRoute(
        layout.OFFSET_FOR_LEADER_EPOCH,
        AclOperation.DESCRIBE,
        outcome_unknown=_READ_AGAIN,
        replica_ids=_NO_FOLLOWER,
    ),
    ApiKey.DELETE_RECORDS: LeaderRoute(
        layout.DELETE_RECORDS, AclOperation.DELETE, outcome_unknown=_UNKNOWN
    ),
}
_BY_OWNER: Final = {
    ApiKey.CREATE_TOPICS: controller,
    ApiKey.DELETE_TOPICS: controller,
    ApiKey.CREATE_PARTITIONS: controller,
    ApiKey.ELECT_LEADERS: controller,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: controller,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: controller,
    ApiKey.UPDATE_FEATURES: controller,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: controller,
    ApiKey.OFFSET_COMMIT: group_coordinator(),
    ApiKey.OFFSET_FETCH: group_coordinator(),
    ApiKey.HEARTBEAT: group_coordinator(),
    ApiKey.LEAVE_GROUP: group_coordinator(),
    ApiKey.OFFSET_DELETE: group_coordinator(),
    ApiKey.TXN_OFFSET_COMMIT: group_coordinator(),
    ApiKey.INIT_PRODUCER_ID: transaction_coordinator(),
    ApiKey.ADD_PARTITIONS_TO_TXN: transaction_coordinator(),
    ApiKey.ADD_OFFSETS_TO_TXN: transaction_coordinator(),
    ApiKey.END_TXN: transaction_coordinator(),
}
_OF_GROUPS: Final[Mapping[int, Route]] = {
    ApiKey.DESCRIBE_GROUPS: GroupsRoute("groups", "groups"),
    ApiKey.DELETE_GROUPS: GroupsRoute("groups_names", "results"),
    ApiKey.LIST_GROUPS: GatewayListRoute(),
}
_BY_PATIENT_OWNER: Final = {
    ApiKey.JOIN_GROUP: group_coordinator(),
    ApiKey.SYNC_GROUP: group_coordinator(),
}
ROUTES: Final[Mapping[int, Route]] = MappingProxyType(
    {
        **_BY_LEADER,
        **_OF_GROUPS,
        **{key: OwnerRoute(owner) for key, owner in _BY_OWNER.items()},
        **{
            key: OwnerRoute(owner, waits_for_group=True) for key, owner in _BY_PATIENT_OWNER.items()
        },
    }
)
