"""zk_schemas/ as a check: does a znode, or a whole tree, look as Kafka's does?

    validate_znode("/controller_epoch", b"7")
    validate_tree(read_tree("127.0.0.1:2181/chroot"))     # of a live ZooKeeper

A schema says with `x-znode` which paths it is for, whether the data is `json`, `text` or `empty`,
and whether the znode is ephemeral or sequential.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

_untyped_client: Any = KazooClient


class LiveZnode(NamedTuple):
    """What of a znode is checked."""

    data: bytes | None
    is_ephemeral: bool


class ZnodeSchema(NamedTuple):
    """One file of zk_schemas/."""

    name: str
    schema: dict[str, Any]

    @property
    def kind(self) -> dict[str, Any]:
        """The `x-znode` keyword."""
        return dict(self.schema["x-znode"])

    def is_for(self, path: str) -> bool:
        """Whether this schema describes the znode at this path."""
        return any(re.search(pattern, path) for pattern in self.kind["paths"])

    def why_wrong(self, data: bytes | None) -> str | None:
        """Say what is wrong with the data, or None."""
        try:
            value = self._value_of(data)
        except ValueError as error:
            return f"{data!r} is not {self.kind['data']}: {error}"
        errors = Draft202012Validator(self.schema).iter_errors(value)
        return "; ".join(f"{error.json_path}: {error.message}" for error in errors) or None

    def _value_of(self, data: bytes | None) -> Any:
        """Give what the schema describes: null for no data, a string for text, or the JSON."""
        if not data:
            return None
        return data.decode() if self.kind["data"] != "json" else json.loads(data)


@cache
def schemas() -> tuple[ZnodeSchema, ...]:
    """All schemas, as installed."""
    folder = resources.files("zk_schemas")
    found = [
        ZnodeSchema(file.name.removesuffix(".json"), json.loads(file.read_text()))
        for file in folder.iterdir()
        if file.name.endswith(".json")
    ]
    return tuple(sorted(found, key=lambda schema: schema.name))


def schema_of(path: str) -> ZnodeSchema:
    """Give the one schema of a path; AssertionError if there is none or more than one."""
    found = [schema for schema in schemas() if schema.is_for(path)]
    assert len(found) == 1, f"{path} has {len(found)} schemas: {[s.name for s in found]}"
    return found[0]


def why_wrong(path: str, data: bytes | None, is_ephemeral: bool | None = None) -> str | None:
    """Say what is wrong with a znode, or None."""
    schema = schema_of(path)
    if is_ephemeral is not None and is_ephemeral != schema.kind["ephemeral"]:
        return f"{path} ({schema.name}): ephemeral is {is_ephemeral}"
    problem = schema.why_wrong(data)
    return f"{path} ({schema.name}): {problem}" if problem else None


def validate_znode(path: str, data: bytes | None, is_ephemeral: bool | None = None) -> None:
    """Raise AssertionError unless the znode is as its schema says."""
    problem = why_wrong(path, data, is_ephemeral)
    assert problem is None, problem


def validate_tree(tree: Mapping[str, LiveZnode]) -> None:
    """Raise AssertionError with all znodes that are not as their schemas say."""
    problems = [why_wrong(path, *znode) for path, znode in tree.items()]
    wrong = [problem for problem in problems if problem]
    assert not wrong, "\n".join(wrong)


def read_tree(connect_string: str) -> dict[str, LiveZnode]:
    """Read all znodes below a chroot of a live ZooKeeper; blocks."""
    kazoo = _untyped_client(connect_string)
    kazoo.start(timeout=30)
    try:
        return dict(_walk(kazoo, "/"))
    finally:
        kazoo.stop()
        kazoo.close()


def _walk(kazoo: Any, path: str) -> Iterator[tuple[str, LiveZnode]]:  # Any: kazoo has no types
    try:
        data, stat = kazoo.get(path)
        children = kazoo.get_children(path)
    except NoNodeError:
        return  # deleted while we walk
    yield path, LiveZnode(data, stat.ephemeralOwner != 0)
    for child in sorted(children):
        yield from _walk(kazoo, f"{path.rstrip('/')}/{child}")
