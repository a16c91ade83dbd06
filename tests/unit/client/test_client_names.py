"""What `from kafkalike.client import …` gives."""

import ast
import inspect
import re
import subprocess
import sys

import pytest

import kafkalike.client
from kafkalike.client import admin, errors
from kafkalike.protocol.api_keys import ApiKey
from tests.support.source_tree import ROOT


def test_type_checkers_see_the_names_that_there_are() -> None:
    stub = ast.parse((ROOT / "kafkalike/client/__init__.pyi").read_text())
    told = {
        (alias.name, node.module)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert told == set(kafkalike.client._PLACES.items())  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", kafkalike.client.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(kafkalike.client, name).__name__ == name


def test_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="KafkaStreams"):
        kafkalike.client.KafkaStreams  # type: ignore[attr-defined]  # noqa: B018


def test_package_is_imported_without_its_clients() -> None:
    code = "import sys, kafkalike.client.simple_client; sys.exit('twisted.internet' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_errors_have_kafka_pythons_names() -> None:
    for name in ("KafkaTimeoutError", "NoBrokersAvailable", "TopicAlreadyExistsError"):
        assert issubclass(getattr(errors, name), errors.KafkaError)
    assert set(errors.__all__) <= set(dir(errors))


def test_type_checkers_see_the_names_of_the_admin_package() -> None:
    stub = ast.parse((ROOT / "kafkalike/client/admin/__init__.pyi").read_text())
    told = {
        (alias.name, node.module)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert told == set(admin._PLACES.items())  # type: ignore[attr-defined]


# What kafka-python has and this client does not: later Kafka's APIs, and details of its own.
NOT_HERE = {
    "KafkaProducer": {"max_usable_produce_magic"},
    "KafkaConsumer": {"bootstrap"},
    "KafkaAdminClient": {
        "abort_transaction",
        "alter_user_scram_credentials",
        "describe_metadata_quorum",
        "describe_topic_partitions",
        "describe_transactions",
        "find_hanging_transactions",
        "get_broker_version_data",
        "list_config_resources",
        "list_transactions",
    },
}


@pytest.mark.parametrize("name", NOT_HERE)
def test_methods_have_kafka_pythons_names_and_arguments(name: str) -> None:
    theirs = getattr(pytest.importorskip("kafka"), name)
    ours = getattr(kafkalike.client, name)
    missing = {
        method
        for method, found in inspect.getmembers(theirs, inspect.isfunction)
        if not method.startswith("_") and not hasattr(ours, method)
    }
    assert missing <= NOT_HERE[name]
    ignored = {"null_logger", "raw", "group_coordinator_id", "partition_leader_id", "types_filter"}
    ignored |= {"send_request_to_controller", "broker_id", "validate_only", "raise_on_unknown"}
    ignored |= {"incremental"}
    for method, found in inspect.getmembers(theirs, inspect.isfunction):
        if not method.startswith("_") and method not in missing:
            wanted = set(inspect.signature(found).parameters) - ignored
            assert wanted <= set(inspect.signature(getattr(ours, method)).parameters), method


def test_admin_package_has_what_programs_take_from_kafka_admin() -> None:
    assert admin.NewTopic("t").name == "t"
    assert admin.KafkaAdminClient is kafkalike.client.KafkaAdminClient


@pytest.mark.parametrize("name", ["NotEnoughReplicasError", "ConcurrentTransactionsError"])
def test_every_error_of_the_protocol_can_be_caught_by_its_name(name: str) -> None:
    assert issubclass(getattr(errors, name), errors.KafkaError)
    with pytest.raises(AttributeError, match="NoSuchError"):
        errors.NoSuchError  # noqa: B018


def test_every_api_that_a_client_may_use_is_used() -> None:
    between_brokers = {
        *(ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA),
        *(ApiKey.CONTROLLED_SHUTDOWN, ApiKey.WRITE_TXN_MARKERS, ApiKey.ALTER_ISR),
    }
    elsewhere = {ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}  # when a connection is made
    not_yet = {ApiKey.OFFSET_FOR_LEADER_EPOCH}  # see docs/client.md, "What is not there"
    code = "".join(path.read_text() for path in (ROOT / "kafkalike/client").rglob("*.py"))
    used = {key for key in ApiKey if re.search(rf"\b{key.name.lower()}(\.| import)", code)}
    assert set(ApiKey) - used == between_brokers | elsewhere | not_yet
