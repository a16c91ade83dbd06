"""What one client may do, asked of the authorizer for the time of one request (AuthHelper)."""

from collections.abc import Iterable
from typing import Final

from kafkalike.security.acl_operation import (
    CLUSTER_OPERATIONS,
    GROUP_OPERATIONS,
    TOPIC_OPERATIONS,
    AclOperation,
    operations_bit_field,
)
from kafkalike.security.authorizer import Action, AuthorizableRequestContext, Authorizer
from kafkalike.security.resource import CLUSTER_NAME, ResourceType

_OPERATIONS: Final = {
    ResourceType.TOPIC: TOPIC_OPERATIONS,
    ResourceType.GROUP: GROUP_OPERATIONS,
    ResourceType.CLUSTER: CLUSTER_OPERATIONS,
}


class Authorization:
    """An authorizer and who asks."""

    __slots__ = ("_authorizer", "context")

    def __init__(self, authorizer: Authorizer, context: AuthorizableRequestContext) -> None:
        self._authorizer = authorizer
        self.context = context

    def allows(
        self,
        operation: AclOperation,
        resource_type: ResourceType,
        name: str,
        *,
        log_if_denied: bool = True,
    ) -> bool:
        """Whether the client may do this."""
        return self._authorizer.authorize(
            self.context, Action(operation, resource_type, name, log_if_denied)
        )

    def allows_cluster(self, operation: AclOperation, *, log_if_denied: bool = True) -> bool:
        """Whether the client may do this to the cluster."""
        return self.allows(
            operation, ResourceType.CLUSTER, CLUSTER_NAME, log_if_denied=log_if_denied
        )

    def allows_somewhere(self, operation: AclOperation, resource_type: ResourceType) -> bool:
        """Whether there is a resource of this type that the client may do this to."""
        return self._authorizer.authorize_by_resource_type(self.context, operation, resource_type)

    def allowed(
        self,
        operation: AclOperation,
        resource_type: ResourceType,
        names: Iterable[str],
        *,
        log_if_denied: bool = True,
    ) -> set[str]:
        """Give those of the names that the client may do this to; each is asked once."""
        return {
            name
            for name in set(names)
            if self.allows(operation, resource_type, name, log_if_denied=log_if_denied)
        }

    def operations(self, resource_type: ResourceType, name: str) -> int:
        """Give the `authorized_operations` of a resource: a bit for each that is allowed."""
        return operations_bit_field(
            operation
            for operation in _OPERATIONS[resource_type]
            if self.allows(operation, resource_type, name, log_if_denied=False)
        )
