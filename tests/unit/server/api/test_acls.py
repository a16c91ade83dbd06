"""CreateAcls, DescribeAcls and DeleteAcls, at every version."""

from typing import Any

import pytest

from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from kafkalike.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafkalike.protocol.messages.describe_acls import DescribeAclsRequest
from kafkalike.security.acl import AclPermissionType
from kafkalike.security.acl_operation import AclOperation
from kafkalike.security.resource import PatternType, ResourceType
from kafkalike.server.api.context import CloseConnection
from tests.support.secure_broker import SecureBroker


def creation(name: str = "orders", **fields: Any) -> AclCreation:
    return AclCreation(
        **{
            "resource_type": ResourceType.TOPIC,
            "resource_name": name,
            "resource_pattern_type": PatternType.LITERAL,
            "principal": "User:bob",
            "host": "*",
            "operation": AclOperation.READ,
            "permission_type": AclPermissionType.ALLOW,
            **fields,
        }
    )


def create(*creations: AclCreation) -> CreateAclsRequest:
    return CreateAclsRequest(creations=list(creations))


FILTER: dict[str, Any] = {
    "resource_type_filter": ResourceType.ANY,
    "resource_name_filter": None,
    "pattern_type_filter": PatternType.ANY,
    "principal_filter": None,
    "host_filter": None,
    "operation": AclOperation.ANY,
    "permission_type": AclPermissionType.ANY,
}


def describe(**fields: Any) -> DescribeAclsRequest:
    return DescribeAclsRequest(**{**FILTER, **fields})


def delete(*filters: dict[str, Any]) -> DeleteAclsRequest:
    return DeleteAclsRequest(filters=[DeleteAclsFilter(**{**FILTER, **one}) for one in filters])


@pytest.fixture
def broker() -> SecureBroker:
    return SecureBroker()


@pytest.mark.parametrize("version", range(3))
def test_acl_is_created_described_and_deleted_at_every_version(
    broker: SecureBroker, version: int
) -> None:
    fields = {} if version else {"pattern_type_filter": PatternType.LITERAL}
    (created,) = broker.ask(create(creation()), version).results
    assert (created.error_code, created.error_message) == (0, "")
    (resource,) = broker.ask(describe(**fields), version).resources
    assert (resource.resource_type, resource.resource_name) == (ResourceType.TOPIC, "orders")
    (acl,) = resource.acls
    assert (acl.principal, acl.host, acl.operation) == ("User:bob", "*", AclOperation.READ)
    (result,) = broker.ask(delete(fields), version).filter_results
    assert [one.resource_name for one in result.matching_acls] == ["orders"]
    assert broker.ask(describe(**fields), version).resources == []


def test_the_first_version_knows_literal_names_only(broker: SecureBroker) -> None:
    prefixed = creation("pre", resource_pattern_type=PatternType.PREFIXED)
    broker.ask(create(creation(), prefixed))
    old = {"pattern_type_filter": PatternType.LITERAL}
    assert [r.resource_name for r in broker.ask(describe(**old), 0).resources] == ["orders"]
    assert len(broker.ask(describe()).resources) == 2


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (creation(""), "Invalid empty resource name"),
        (
            creation("x", resource_type=ResourceType.CLUSTER),
            "The only valid name for the CLUSTER resource is kafka-cluster",
        ),
        (creation(resource_type=ResourceType.ANY), "Failed to create ACL"),
        (creation(operation=AclOperation.ANY), "Failed to create ACL"),
        (creation(resource_pattern_type=PatternType.MATCH), "Failed to create ACL"),
        (creation(principal="bob"), "Failed to create ACL"),
    ],
)
def test_acl_that_makes_no_sense_is_refused_and_the_others_are_created(
    broker: SecureBroker, bad: AclCreation, message: str
) -> None:
    results = broker.ask(create(bad, creation())).results
    assert [r.error_code for r in results] == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
    assert results[0].error_message == message


def test_codes_that_nobody_knows_end_the_connection(broker: SecureBroker) -> None:
    for request in (create(creation(operation=99)), describe(permission_type=99)):
        with pytest.raises(CloseConnection):
            broker.ask(request)


def test_acl_that_two_filters_match_counts_for_the_first(broker: SecureBroker) -> None:
    broker.ask(create(creation(), creation("payments")))
    by_name = {"resource_name_filter": "orders"}
    first, second = broker.ask(delete(by_name, {})).filter_results
    assert [acl.resource_name for acl in first.matching_acls] == ["orders"]
    assert [acl.resource_name for acl in second.matching_acls] == ["payments"]


def test_without_an_authorizer_security_is_disabled() -> None:
    broker = SecureBroker(has_authorizer=False)
    described = broker.ask(describe())
    (created,) = broker.ask(create(creation())).results
    (deleted,) = broker.ask(delete({})).filter_results
    for answer in (described, created, deleted):
        assert answer.error_code == ErrorCode.SECURITY_DISABLED
        assert "No Authorizer is configured on the broker" in answer.error_message
