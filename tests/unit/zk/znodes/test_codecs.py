"""Our codecs beyond the golden znodes: other versions, odd values, and data that is no good."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalike.model.broker import Broker, EndPoint
from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.zk import znodes
from kafkalike.zk.errors import ZkDataError
from kafkalike.zk.znodes import BrokerIdZNode, BrokerInfo, TopicZNode, desanitize, sanitize
from tests.support.znode_schemas import validate_znode

DECODERS: dict[str, Callable[[bytes | None], Any]] = {
    "broker": partial(BrokerIdZNode.decode, 1),
    "topic": partial(TopicZNode.decode, "t"),
    "partition state": lambda data: znodes.TopicPartitionStateZNode.decode(data, 0),
    "cluster id": znodes.ClusterIdZNode.decode,
    "config change": znodes.ConfigChangeZNode.decode,
    "controller": znodes.ControllerZNode.decode,
    "controller epoch": znodes.ControllerEpochZNode.decode,
    "feature": znodes.FeatureZNode.decode,
    "producer ids": znodes.ProducerIdBlockZNode.decode,
    "isr change": znodes.IsrChangeZNode.decode,
    "log dir event": znodes.LogDirEventZNode.decode,
    "reassignment": znodes.ReassignPartitionsZNode.decode,
    "preferred election": znodes.PreferredReplicaElectionZNode.decode,
    "acl change": znodes.AclChangeZNode.decode,
    "extended acl change": znodes.ExtendedAclChangeZNode.decode,
    "token": znodes.DelegationTokenZNode.decode,
}


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("data", [None, b"", b"{", b"[]", b'"x"', b"null", b"\xff"])
def test_data_that_is_no_good_is_one_kind_of_error(name: str, data: bytes | None) -> None:
    with pytest.raises(ZkDataError):
        DECODERS[name](data)


@pytest.mark.parametrize("name", sorted(DECODERS.keys() - {"topic"}))
def test_missing_keys_are_told(name: str) -> None:
    with pytest.raises(ZkDataError):
        DECODERS[name](b"{}")


def test_topic_without_partitions_is_read_as_kafka_reads_it() -> None:
    assert TopicZNode.decode("t", b"{}").assignment == {}


@pytest.mark.parametrize("decode", [znodes.ResourceZNode.decode, znodes.ConfigEntityZNode.decode])
def test_acls_and_configs_may_be_absent_but_not_broken(decode: Callable[[Any], Any]) -> None:
    assert not decode(None)
    assert not decode(b"")
    for data in (b"{", b"[]", b"\xff", b'{"version":2,"acls":3,"config":3}'):
        with pytest.raises(ZkDataError):
            decode(data)


def test_error_names_the_znode_and_what_it_holds() -> None:
    with pytest.raises(ZkDataError, match="/brokers/ids/1 holds no JSON: b'oops'") as caught:
        BrokerIdZNode.decode(1, b"oops")
    assert caught.value.path == "/brokers/ids/1"


def registration(version: int, **values: Any) -> bytes:
    common = {"version": version, "jmx_port": 9999, "timestamp": "2233345666"}
    return json.dumps(common | values).encode()


def test_registrations_of_older_brokers_are_read() -> None:
    map_ = {"CLIENT": "SSL"}
    for data, end_points, rack in (
        (
            registration(1, host="h", port=9092),
            [EndPoint("h", 9092, "PLAINTEXT", "PLAINTEXT")],
            None,
        ),
        (
            registration(2, endpoints=["PLAINTEXT://host1:9092", "SSL://host1:9093"]),
            [
                EndPoint("host1", 9092, "PLAINTEXT", "PLAINTEXT"),
                EndPoint("host1", 9093, "SSL", "SSL"),
            ],
            None,
        ),
        (
            registration(3, host=None, port=-1, endpoints=["SASL_SSL://[::1]:9093"], rack="dc1"),
            [EndPoint("::1", 9093, "SASL_SSL", "SASL_SSL")],
            "dc1",
        ),
        (
            registration(4, endpoints=["CLIENT://h:1"], listener_security_protocol_map=map_),
            [EndPoint("h", 1, "CLIENT", "SSL")],
            None,
        ),
    ):
        info = BrokerIdZNode.decode(1, data)
        assert info.broker == Broker(1, tuple(end_points), rack)
        assert info.jmx_port == 9999


@pytest.mark.parametrize("end_point", ["host:9092", "A://h", "B://h:1"])
def test_listener_that_is_none_is_refused(end_point: str) -> None:
    map_ = {"A": "SSL"}
    data = registration(4, endpoints=[end_point], listener_security_protocol_map=map_)
    with pytest.raises(ZkDataError):
        BrokerIdZNode.decode(1, data)


def test_registration_of_version_0_is_refused() -> None:
    with pytest.raises(ZkDataError, match="version 0 is not supported"):
        BrokerIdZNode.decode(1, registration(0))


def test_topics_of_older_versions_are_read() -> None:
    topic = TopicZNode.decode("t", b'{"version":1,"partitions":{"1":[3,1],"0":[1]}}')
    assert topic.topic_id is None
    assert topic.assignment == {
        TopicPartition("t", 0): ReplicaAssignment((1,)),
        TopicPartition("t", 1): ReplicaAssignment((3, 1)),
    }


def test_config_change_of_version_1_is_read() -> None:
    old = b'{"version":1,"entity_type":"topics","entity_name":"t"}'
    assert znodes.ConfigChangeZNode.decode(old) == "topics/t"


names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)


@settings(deadline=None)
@given(names)
def test_any_name_fits_into_a_path_and_comes_back(name: str) -> None:
    path = sanitize(name)
    assert "/" not in path
    assert path.isascii()
    assert desanitize(path) == name


def test_names_are_sanitized_as_java_does() -> None:
    assert sanitize("a b+c*~_-.é<") == "a%20b%2Bc%2A%7E_-.%C3%A9%3C"


broker_ids = st.integers(0, 2**31 - 1)
levels = st.tuples(st.integers(1, 99), st.integers(1, 99))
hosts = st.sampled_from(["h", "host-1.example.org", "10.0.0.1", "::1", "fe80::1%eth0"])
end_points = st.builds(
    EndPoint,
    hosts,
    st.integers(0, 65535),
    st.from_regex(r"[A-Z_]{1,9}", fullmatch=True),
    st.sampled_from(["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]),
)
infos = st.builds(
    BrokerInfo,
    st.builds(
        Broker,
        broker_ids,
        st.lists(end_points, min_size=1, max_size=3, unique_by=lambda e: e.listener_name).map(
            tuple
        ),
        st.none() | st.text(max_size=9),
        st.dictionaries(st.from_regex(r"[a-z]{1,9}", fullmatch=True), levels, max_size=2),
    ),
    jmx_port=st.integers(-1, 65535),
    timestamp_ms=st.integers(0, 2**62),
)


@settings(deadline=None)
@given(infos)
def test_registration_round_trips_and_is_valid(info: BrokerInfo) -> None:
    data = BrokerIdZNode.encode(info)
    validate_znode(BrokerIdZNode.path(info.broker.id), data)
    assert BrokerIdZNode.decode(info.broker.id, data) == info


replicas = st.lists(broker_ids, min_size=1, max_size=5, unique=True).map(tuple)
assignments = st.dictionaries(
    st.builds(TopicPartition, st.just("t"), st.integers(0, 10**6)),
    st.builds(ReplicaAssignment, replicas, st.just(()) | replicas, st.just(()) | replicas),
    max_size=6,
)


@settings(deadline=None)
@given(st.none() | st.binary(min_size=16, max_size=16), assignments)
def test_topic_round_trips_and_is_valid(
    topic_id: bytes | None, assignment: dict[TopicPartition, ReplicaAssignment]
) -> None:
    data = TopicZNode.encode(topic_id, assignment)
    validate_znode("/brokers/topics/t", data)
    decoded = TopicZNode.decode("t", data)
    assert (decoded.topic_id, decoded.assignment) == (topic_id, assignment)
