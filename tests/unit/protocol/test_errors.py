import json
from typing import Any

import pytest

from kafkalike.protocol import errors
from kafkalike.protocol.errors import ErrorCode, KafkaError, error_for
from tests.support.protocol_vectors import GOLDEN

FACTS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (GOLDEN / "facts" / "error.jsonl").read_text(encoding="utf-8").splitlines()
]
# Python has a TimeoutError of its own, and one of Kafka's exceptions lacks the ending.
OWN_NAMES = {
    "TimeoutException": "RequestTimedOutError",
    "OffsetMetadataTooLarge": "OffsetMetadataTooLargeError",
}


def test_codes_and_names_are_kafkas() -> None:
    assert {code.value: code.name for code in ErrorCode} == {
        fact["code"]: fact["name"] for fact in FACTS
    }


@pytest.mark.parametrize("fact", [fact for fact in FACTS if fact["code"]], ids=lambda f: f["name"])
def test_each_code_has_a_class_that_says_whether_to_retry(fact: dict[str, Any]) -> None:
    error_class = error_for(fact["code"])
    exception = fact["exception"]
    name = OWN_NAMES.get(exception, exception.replace("Exception", "Error"))
    assert error_class is getattr(errors, name)
    assert error_class.code == fact["code"]
    assert error_class.retriable is fact["retriable"]


def test_an_error_without_message_describes_itself() -> None:
    for code in ErrorCode:
        if code is not ErrorCode.NONE:
            assert str(error_for(code)()).endswith(".")
    assert str(errors.OffsetOutOfRangeError("t-0: 7 is past 5")) == "t-0: 7 is past 5"


def test_a_code_of_a_later_kafka_is_an_unknown_server_error() -> None:
    assert error_for(999) is errors.UnknownServerError
    assert errors.UnknownServerError.code == KafkaError.code == -1


def test_no_error_has_no_class() -> None:
    with pytest.raises(ValueError, match="NONE"):
        error_for(0)


def test_malformed_bytes_are_not_an_error_with_a_code() -> None:
    assert not issubclass(errors.ProtocolError, KafkaError)
