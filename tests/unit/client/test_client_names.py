"""What `from kafkalike.client import …` gives."""

import ast
import subprocess
import sys

import pytest

import kafkalike.client
from kafkalike.client import errors
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
