"""Set, delete, append, subtract."""

import pytest

from kafkalike.config.topic_config import TopicConfig
from kafkalike.protocol.errors import InvalidRequestError, UnknownServerError
from kafkalike.server.config_operations import (
    AlterConfigOp,
    OpType,
    apply_operations,
    check_operations,
)

CURRENT = {"retention.ms": "5", "cleanup.policy": "compact,delete"}


def _apply(name: str, kind: OpType | None, value: str | None) -> dict[str, str]:
    return apply_operations(CURRENT, [AlterConfigOp(name, kind, value)], TopicConfig.KEYS)


def test_value_is_set() -> None:
    assert _apply("segment.ms", OpType.SET, "7") == {**CURRENT, "segment.ms": "7"}


def test_value_is_deleted() -> None:
    assert _apply("retention.ms", OpType.DELETE, None) == {"cleanup.policy": "compact,delete"}
    assert _apply("segment.ms", OpType.DELETE, None) == CURRENT


def test_elements_are_appended() -> None:
    name = "leader.replication.throttled.replicas"
    assert _apply("cleanup.policy", OpType.APPEND, "x,y")["cleanup.policy"] == (
        "compact,delete,x,y"
    )
    appended = apply_operations(
        {name: "0:1"}, [AlterConfigOp(name, OpType.APPEND, "1:1")], {name: TopicConfig.KEYS[name]}
    )
    assert appended == {name: "0:1,1:1"}


def test_elements_are_appended_to_the_default() -> None:
    operation = AlterConfigOp("cleanup.policy", OpType.APPEND, "compact")
    assert apply_operations({}, [operation], TopicConfig.KEYS) == {
        "cleanup.policy": "delete,compact"
    }


def test_elements_are_subtracted_once_each() -> None:
    assert _apply("cleanup.policy", OpType.SUBTRACT, "delete,x")["cleanup.policy"] == "compact"
    assert _apply("cleanup.policy", OpType.SUBTRACT, "delete,compact")["cleanup.policy"] == ""


@pytest.mark.parametrize(
    ("kind", "word"), [(OpType.APPEND, "append"), (OpType.SUBTRACT, "subtract")]
)
def test_only_lists_have_elements(kind: OpType, word: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        _apply("retention.ms", kind, "1")
    assert caught.value.message == (
        f"Config value {word} is not allowed for config key: retention.ms"
    )


def test_unknown_key_and_unknown_operation_are_unknown_errors() -> None:
    with pytest.raises(UnknownServerError):
        _apply("foo", OpType.APPEND, "1")
    with pytest.raises(UnknownServerError):
        _apply("retention.ms", None, "1")


def test_key_may_be_changed_once() -> None:
    twice = [
        AlterConfigOp("retention.ms", OpType.SET, "1"),
        AlterConfigOp("retention.ms", OpType.DELETE, None),
    ]
    with pytest.raises(InvalidRequestError, match=r"duplicate config keys : retention\.ms"):
        check_operations(twice)


def test_null_is_only_for_deletion() -> None:
    check_operations([AlterConfigOp("retention.ms", OpType.DELETE, None)])
    nulls = [
        AlterConfigOp("retention.ms", OpType.SET, None),
        AlterConfigOp("segment.ms", OpType.APPEND, None),
    ]
    with pytest.raises(InvalidRequestError, match=r"SET:retention\.ms,APPEND:segment\.ms"):
        check_operations(nulls)
