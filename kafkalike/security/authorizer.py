"""The authorizer as a plug-in point: `authorizer.class.name` names a class that decides.

Kafka's own names select `AclAuthorizer`; any other is a Python class, `package.module.Class`. Its
`configure(properties)`, if it has one, is called once with the broker's properties.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from kafkalike.protocol.errors import KafkaError, SecurityDisabledError
from kafkalike.security.acl import AclBinding, AclBindingFilter
from kafkalike.security.acl_operation import AclOperation
from kafkalike.security.principal import KafkaPrincipal
from kafkalike.security.resource import ResourceType

OUR_NAMES = frozenset(
    {
        "kafka.security.authorizer.AclAuthorizer",
        "kafka.security.auth.SimpleAclAuthorizer",
        "kafkalike.security.acl_authorizer.AclAuthorizer",
    }
)
"""The class names that mean `AclAuthorizer`: Kafka's present and former one, and ours."""


class AuthorizableRequestContext(NamedTuple):
    """Who asks, and by what request."""

    principal: KafkaPrincipal
    client_host: str
    listener_name: str
    client_id: str | None
    request_name: str


class Action(NamedTuple):
    """What is to be allowed or denied.

    A denial is logged at info, unless the question was only asked to leave things out of a list
    (`log_if_denied` is false then).
    """

    operation: AclOperation
    resource_type: ResourceType
    name: str
    log_if_denied: bool = True


class AclDeleteResult(NamedTuple):
    """What became of one filter: the bindings that matched, each with why it is still there."""

    deleted: Sequence[tuple[AclBinding, KafkaError | None]] = ()


class Authorizer(Protocol):
    """Says who may do what. `authorize` is asked for every request, so it must not wait."""

    def authorize(self, context: AuthorizableRequestContext, action: Action) -> bool:
        """Whether the action is allowed."""

    def authorize_by_resource_type(
        self,
        context: AuthorizableRequestContext,
        operation: AclOperation,
        resource_type: ResourceType,
    ) -> bool:
        """Whether the action is allowed on any resource of a type."""

    def acls(self, wanted: AclBindingFilter) -> Iterable[AclBinding]:
        """Give the ACLs that match."""

    async def create_acls(
        self, context: AuthorizableRequestContext, bindings: Sequence[AclBinding]
    ) -> Sequence[KafkaError | None]:
        """Create ACLs; for each None, or what went wrong."""

    async def delete_acls(
        self, context: AuthorizableRequestContext, filters: Sequence[AclBindingFilter]
    ) -> Sequence[AclDeleteResult]:
        """Delete the ACLs that match; a result for each filter."""

    async def start(self) -> None:
        """Be ready to decide; the broker serves nobody before."""

    def close(self) -> None:
        """Let go of what `start` opened."""


class AuthorizerBase:
    """To begin an authorizer of one's own with: all but `authorize` is there. It has no ACLs."""

    def authorize_by_resource_type(
        self,
        context: AuthorizableRequestContext,
        operation: AclOperation,
        resource_type: ResourceType,
    ) -> bool:
        """Whether the action is allowed on any resource of a type; nobody can know here."""
        return False

    def acls(self, wanted: AclBindingFilter) -> Iterable[AclBinding]:
        """Give no ACLs."""
        raise SecurityDisabledError("The authorizer of this broker has no ACLs")

    async def create_acls(
        self, context: AuthorizableRequestContext, bindings: Sequence[AclBinding]
    ) -> Sequence[KafkaError | None]:
        """Refuse to create ACLs."""
        return [SecurityDisabledError("The authorizer of this broker has no ACLs")] * len(bindings)

    async def delete_acls(
        self, context: AuthorizableRequestContext, filters: Sequence[AclBindingFilter]
    ) -> Sequence[AclDeleteResult]:
        """Find nothing to delete."""
        return [AclDeleteResult()] * len(filters)

    async def start(self) -> None:
        """Be ready at once."""

    def close(self) -> None:
        """Have nothing to let go of."""
