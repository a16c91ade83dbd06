"""zk_schemas/ describes every znode of Apache Kafka 2.8.2, and every znode that we write."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.golden_zk import GOLDEN, GoldenZnode, golden_znodes
from tests.support.znode_schemas import (
    LiveZnode,
    ZnodeSchema,
    schema_of,
    schemas,
    validate_tree,
    validate_znode,
    why_wrong,
)

ZNODES = list({(znode.path, znode.data): znode for znode in golden_znodes()}.values())
VERSION_5_WITHOUT_FEATURES = (
    b'{"listener_security_protocol_map":{"A":"PLAINTEXT"},"endpoints":["A://h:1"],'
    b'"jmx_port":-1,"port":1,"host":"h","version":5,"timestamp":"1"}'
)
# One example of each kind that has JSON, to be spoilt.
EXAMPLES = {schema_of(z.path).name: z for z in ZNODES if z.data and z.data.startswith(b"{")}


@pytest.mark.parametrize("schema", schemas(), ids=lambda schema: schema.name)
def test_schema_is_a_schema_and_says_what_it_is_for(schema: ZnodeSchema) -> None:
    Draft202012Validator.check_schema(schema.schema)
    assert schema.schema["$id"] == f"{schema.name}.json"
    assert set(schema.kind) == {"paths", "data", "ephemeral", "sequential"}
    assert schema.kind["data"] in {"json", "text", "empty"}


@pytest.mark.parametrize("znode", ZNODES, ids=lambda znode: f"{znode.source}{znode.path}")
def test_golden_znode_is_valid_by_exactly_one_schema(znode: GoldenZnode) -> None:
    validate_znode(znode.path, znode.data)


def test_every_schema_describes_some_golden_znode() -> None:
    used = {schema_of(znode.path).name for znode in ZNODES}
    # Only clients older than 0.8.2 commit to ZooKeeper; the capture has none.
    assert used | {"consumers_group_offsets"} == {schema.name for schema in schemas()}


def test_golden_tree_is_valid_with_its_flags() -> None:
    steady = json.loads((GOLDEN / "zk_tree.json").read_text())["steady"]
    validate_tree(
        {
            path: LiveZnode(z["data"].encode() if z["data"] else None, z["ephemeral"])
            for path, z in steady.items()
        }
    )
    assert {path for path, z in steady.items() if z["sequential"]} == {
        path for path in steady if schema_of(path).kind["sequential"]
    }


def spoilt(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Each way in which one key of an object is missing, of another type, or too much."""
    ways = [{**value, "surplus": 1}]
    for key in value:
        ways.append({k: v for k, v in value.items() if k != key})
        ways.append({**value, key: ["not", {"this": "type"}]})
    return ways


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_spoilt_znode_is_refused(name: str) -> None:
    znode = EXAMPLES[name]
    assert znode.data is not None
    optional = {"rack", "topic_id"}
    good = json.loads(znode.data)
    for value in spoilt(good):
        if not (good.keys() - value.keys()) & optional:
            assert why_wrong(znode.path, json.dumps(value).encode()), value
    assert why_wrong(znode.path, znode.data[:-1])
    assert why_wrong(znode.path, b"\xff")


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("/controller_epoch", b"-1"),
        ("/controller_epoch", b'"1"'),
        ("/controller_epoch", None),
        ("/brokers/topics", b"data"),
        ("/brokers/topics/a/partitions/0", b"{}"),
        ("/kafka-acl-changes/acl_changes_0000000000", b"TOPIC"),
        ("/delegation_token/token_changes/token_change_0000000000", b"short"),
        (
            "/brokers/topics/a/partitions/0/state",
            b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,1]}',
        ),
        ("/brokers/ids/1", VERSION_5_WITHOUT_FEATURES),
    ],
)
def test_nonsense_is_refused(path: str, data: bytes | None) -> None:
    with pytest.raises(AssertionError, match=path):
        validate_znode(path, data)


@pytest.mark.parametrize(
    "path", ["/brokers/ids/x", "/brokers/ids/01", "/brokers/topics/a b", "/stray", "/admin/x"]
)
def test_path_that_kafka_does_not_have_has_no_schema(path: str) -> None:
    with pytest.raises(AssertionError, match="0 schemas"):
        schema_of(path)


def test_tree_with_a_wrong_flag_is_refused() -> None:
    data = b'{"version":1,"brokerid":1,"timestamp":"1"}'
    validate_tree({"/controller": LiveZnode(data, True)})
    with pytest.raises(AssertionError, match="ephemeral is False"):
        validate_tree({"/controller": LiveZnode(data, False)})
