"""Single changes to a configuration: set, delete, append, subtract (KIP-339), decisions only."""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

from kafkalike.config.definition import ConfigKey
from kafkalike.config.value_types import ConfigType, format_value
from kafkalike.protocol.errors import InvalidRequestError, UnknownServerError


class OpType(IntEnum):
    """What to do with a value, with its number on the wire."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class AlterConfigOp(NamedTuple):
    """One change; an operation that Kafka does not know is None."""

    name: str
    type: OpType | None
    value: str | None


def check_operations(operations: Iterable[AlterConfigOp]) -> None:
    """Refuse a key that is changed twice, and a null where a value is needed."""
    names = [operation.name for operation in operations]
    duplicates = dict.fromkeys(name for name in names if names.count(name) > 1)
    if duplicates:
        raise InvalidRequestError(f"Error due to duplicate config keys : {','.join(duplicates)}")
    nulls = [
        f"{operation.type.name}:{operation.name}"
        for operation in operations
        if operation.value is None and operation.type not in (None, OpType.DELETE)
        if operation.type is not None
    ]
    if nulls:
        raise InvalidRequestError(f"Null value not supported for : {','.join(nulls)}")


def apply_operations(
    properties: Mapping[str, str],
    operations: Iterable[AlterConfigOp],
    keys: Mapping[str, ConfigKey],
) -> dict[str, str]:
    """Give the properties after all changes."""
    result = dict(properties)
    for name, operation, value in operations:
        if operation is OpType.DELETE:
            result.pop(name, None)
        elif operation is OpType.SET and value is not None:
            result[name] = value
        elif operation in (OpType.APPEND, OpType.SUBTRACT) and value is not None:
            result[name] = _changed_list(name, operation, value, result.get(name), keys)
        else:
            raise UnknownServerError(f"{name}: there is no such operation")
    return result


def _changed_list(
    name: str,
    operation: OpType,
    value: str,
    current: str | None,
    keys: Mapping[str, ConfigKey],
) -> str:
    key = keys.get(name)
    if key is None:
        raise UnknownServerError(f"{name} is not declared, so it is no list")
    if key.type is not ConfigType.LIST:
        raise InvalidRequestError(
            f"Config value {operation.name.lower()} is not allowed for config key: {name}"
        )
    text = current if current is not None else format_value(key.default) or ""
    elements, changes = text.split(","), value.split(",")
    if operation is OpType.APPEND:
        return ",".join(elements + changes)
    for change in changes:
        if change in elements:
            elements.remove(change)
    return ",".join(elements)
