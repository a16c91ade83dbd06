import json

import pytest

from kafkalike.protocol.api_keys import ApiKey, request_class, response_class
from kafkalike.protocol.messages.fetch import FetchRequest, FetchResponse
from tests.support.protocol_vectors import GOLDEN


def test_keys_names_and_versions_are_those_a_real_broker_answers_with() -> None:
    answer = json.loads((GOLDEN / "api_versions.json").read_text(encoding="utf-8"))
    assert [(key, key.api_name, key.min_version, key.max_version) for key in ApiKey] == [
        (api["api_key"], api["name"], api["min"], api["max"]) for api in answer["apis"]
    ]


@pytest.mark.parametrize("key", list(ApiKey))
def test_key_and_message_tables_agree(key: ApiKey) -> None:
    for cls in (request_class(key), response_class(key)):
        assert cls.api_key == key
        assert range(cls.min_version, cls.max_version + 1) == key.versions
    assert request_class(key).__name__ == f"{key.api_name}Request"
    assert response_class(key).__name__ == f"{key.api_name}Response"


@pytest.mark.parametrize("key", list(ApiKey))
def test_flexible_versions_are_those_of_the_table(key: ApiKey) -> None:
    assert request_class(key)._message_table.flexible_from == key.flexible_from


def test_classes_are_found_by_number() -> None:
    assert request_class(1) is FetchRequest
    assert response_class(ApiKey.FETCH) is FetchResponse
    with pytest.raises(ValueError, match="62"):
        request_class(62)


def test_cluster_actions_are_what_brokers_send_to_each_other() -> None:
    assert {key.api_name for key in ApiKey if key.is_cluster_action} == {
        "LeaderAndIsr",
        "StopReplica",
        "UpdateMetadata",
        "ControlledShutdown",
        "WriteTxnMarkers",
        "AlterIsr",
    }
