"""kazoo's exceptions and values as ours; the rest is proved against a real ensemble."""

import pytest
from kazoo import exceptions as kazoo_errors

from kafkalike.zk import errors
from kafkalike.zk.kazoo_values import error_of, from_kazoo_acl, multi_results, to_kazoo_acl
from kafkalike.zk.ops import CREATOR_ALL_ACL, CheckOp, CreateOp


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (kazoo_errors.NoNodeError(), errors.NoNodeError),
        (kazoo_errors.ConnectionLoss(), errors.ConnectionLossError),
        (kazoo_errors.OperationTimeoutError(), errors.ConnectionLossError),
        (kazoo_errors.SessionExpiredError(), errors.SessionExpiredError),
        (kazoo_errors.ConnectionClosedError(), errors.ZkClosedError),
        (kazoo_errors.AuthFailedError(), errors.AuthFailedError),
        (kazoo_errors.MarshallingError("odd"), errors.ZkError),
    ],
)
def test_errors_become_ours_and_name_the_path(
    theirs: Exception, ours: type[errors.ZkError]
) -> None:
    error = error_of(theirs, "/a", 3)
    assert type(error) is ours
    assert (error.path, error.op_index) == ("/a", 3)
    assert "/a" in str(error)


def test_refused_operation_of_a_multi_is_told_from_those_it_took_along() -> None:
    ops = [CreateOp("/a"), CheckOp("/b", 1), CreateOp("/c")]
    answers = [
        kazoo_errors.RolledBackError(),
        kazoo_errors.BadVersionError(),
        kazoo_errors.RuntimeInconsistency(),
    ]
    with pytest.raises(errors.BadVersionError) as caught:
        multi_results(answers, ops, "")
    assert (caught.value.path, caught.value.op_index) == ("/b", 1)


def test_access_lists_round_trip() -> None:
    assert from_kazoo_acl(to_kazoo_acl(CREATOR_ALL_ACL)) == CREATOR_ALL_ACL
