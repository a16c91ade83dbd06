"""The golden vectors and captured frames of the protocol, and every message class by name."""

import base64
import gzip
import json
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from kafkalike.protocol import messages
from kafkalike.protocol.schema import Message
from kafkalike.protocol.structs import Struct
from kafkalike.protocol.table import Field
from tests.support.golden import GOLDEN as GOLDEN


class Vector(NamedTuple):
    """A message as Kafka's own classes wrote it."""

    message: str
    version: int
    fields: dict[str, Any]
    data: bytes


class Frame(NamedTuple):
    """A frame between Kafka 2.8.2 and a client, without its length."""

    capture: str
    api_key: int
    version: int
    is_request: bool
    data: bytes


@cache
def vectors() -> list[Vector]:
    """Read the vectors made of random messages."""
    with gzip.open(GOLDEN / "protocol" / "vectors.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        Vector(row["message"], row["version"], row["fields"], bytes.fromhex(row["hex"]))
        for row in rows
    ]


@cache
def frames() -> list[Frame]:
    """Read the captured frames."""
    found = []
    for path in sorted((GOLDEN / "wire").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            is_request = row["direction"] == "request"
            data = bytes.fromhex(row["hex"])
            found.append(Frame(path.stem, row["api_key"], row["version"], is_request, data))
    return found


@cache
def message_classes() -> dict[str, type[Message]]:
    """Import every module of `messages` and return the message classes by name."""
    return {cls.__name__: cls for module in message_modules() for cls in _messages_of(module)}


def message_modules() -> list[Any]:
    """Import every module of `messages`."""
    names = [module.name for module in pkgutil.iter_modules(messages.__path__)]
    return [import_module(f"{messages.__name__}.{name}") for name in names]


def _messages_of(module: Any) -> Iterator[type[Message]]:
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, Message) and value is not Message:
            yield value


def struct_from_json(cls: type[Struct], fields: dict[str, Any], module: Any) -> Struct:
    """Make a struct from the JSON of a vector, whose names are in camel case."""
    values = {_snake_case(name): value for name, value in fields.items()}
    known = {field.name: field for field in cls.table.fields}
    assert set(values) <= set(known)
    return cls(**{name: _value(known[name], values[name], module) for name in values})


def _snake_case(name: str) -> str:
    return re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _value(field: Field, value: Any, module: Any) -> Any:
    if value is None:
        return None
    if field.is_array:
        return [_element(field, item, module) for item in value]
    return _element(field, value, module)


def _element(field: Field, value: Any, module: Any) -> Any:
    if field.struct is not None:
        return struct_from_json(getattr(module, field.struct.name), value, module)
    if field.type == "bytes":
        return base64.b64decode(value.removeprefix("b64:"))
    if field.type == "uuid":
        return base64.urlsafe_b64decode(value + "==")
    return value
