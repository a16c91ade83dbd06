"""FindCoordinator, as long as there are no coordinators."""

import pytest

from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.support.admin_broker import AdminBroker


@pytest.mark.parametrize("version", range(4))
def test_no_coordinator_is_available(version: int) -> None:
    answer = AdminBroker().ask(FindCoordinatorRequest(key="a-group"), version)
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (answer.node_id, answer.host, answer.port) == (-1, "", -1)
    assert answer.error_message == ("The coordinator is not available." if version else "")


def test_unknown_kind_of_coordinator_is_refused() -> None:
    answer = AdminBroker().ask(FindCoordinatorRequest(key="a-group", key_type=7))
    assert answer.error_code == ErrorCode.INVALID_REQUEST
