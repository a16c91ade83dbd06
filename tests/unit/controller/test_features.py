"""Feature versions: the znode per protocol, and which updates are refused."""

import json

import pytest

from kafkalike.controller.features import is_met
from kafkalike.protocol.errors import InvalidRequestError
from kafkalike.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from kafkalike.zk.znodes import FeatureStatus, FinalizedFeatures
from tests.support.controller_cluster import ControllerCluster
from tests.support.run import run


def a_cluster(**supported: tuple[int, int]) -> ControllerCluster:
    """One broker, with features that Kafka 2.8 does not have."""
    cluster = ControllerCluster()
    cluster.supported_features = supported
    cluster.start_broker(1)
    return cluster


def feature_znode(cluster: ControllerCluster) -> dict[str, object]:
    return dict(json.loads(cluster.zookeeper.data("/feature") or b""))


def update(
    cluster: ControllerCluster, name: str, level: int, *, may_downgrade: bool = False
) -> object:
    key = FeatureUpdateKey(feature=name, max_version_level=level, allow_downgrade=may_downgrade)
    request = UpdateFeaturesRequest(feature_updates=[key])
    return run(cluster.controller.update_features(request))[name]


@pytest.mark.parametrize(("protocol", "status"), [("2.8", 1), ("2.7", 1), ("2.6", 0)])
def test_protocol_decides_whether_features_are_in_force(protocol: str, status: int) -> None:
    cluster = ControllerCluster({"inter.broker.protocol.version": protocol})
    cluster.start_broker(1)
    assert feature_znode(cluster) == {"features": {}, "version": 1, "status": status}


def test_upgrade_of_the_protocol_puts_features_in_force() -> None:
    cluster = ControllerCluster({"inter.broker.protocol.version": "2.6"})
    cluster.start_broker(1)
    cluster.set_config({"inter.broker.protocol.version": "2.8"})
    cluster.start_broker(2)
    cluster.kill_broker(1)
    assert feature_znode(cluster)["status"] == 1


def test_broker_that_lacks_a_final_feature_is_ignored() -> None:
    cluster = ControllerCluster()
    cluster.start_broker(1)
    final = FinalizedFeatures(FeatureStatus.ENABLED, {"f": (1, 2)})
    run(cluster.zk.update_feature_znode(final))
    cluster.start_broker(2)
    cluster.kill_broker(1)  # broker 2 reads the features when it takes office
    assert cluster.controller.context.live_broker_ids == []


@pytest.mark.parametrize(
    ("supported", "finalized", "is_ok"),
    [
        ({}, {}, True),
        ({"f": (1, 3)}, {}, True),
        ({"f": (1, 3)}, {"f": (1, 3)}, True),
        ({"f": (1, 3)}, {"f": (2, 2)}, True),
        ({"f": (2, 3)}, {"f": (1, 3)}, False),
        ({"f": (1, 3)}, {"f": (1, 4)}, False),
        ({}, {"f": (1, 1)}, False),
    ],
)
def test_which_brokers_meet_final_features(
    supported: dict[str, tuple[int, int]], finalized: dict[str, tuple[int, int]], is_ok: bool
) -> None:
    assert is_met(supported, finalized) is is_ok


def test_kafka_2_8_supports_no_feature() -> None:
    refusal = update(a_cluster(), "f", 1)
    assert isinstance(refusal, InvalidRequestError)
    assert "is not supported" in str(refusal)


def test_new_cluster_makes_final_what_its_first_controller_supports() -> None:
    cluster = a_cluster(f=(1, 3))
    assert feature_znode(cluster)["features"] == {
        "f": {"min_version_level": 1, "max_version_level": 3}
    }


def test_feature_goes_down_up_and_away() -> None:
    cluster = a_cluster(f=(1, 3))
    assert update(cluster, "f", 2, may_downgrade=True) is None
    assert update(cluster, "f", 3) is None
    assert update(cluster, "f", 0, may_downgrade=True) is None
    assert feature_znode(cluster)["features"] == {}


@pytest.mark.parametrize(
    ("name", "level", "may_downgrade", "message"),
    [
        ("", 1, False, "can not be empty"),
        ("g", 0, True, "Can not delete non-existing"),
        ("f", 0, False, "less than 1 without setting the allowDowngrade flag"),
        ("f", 3, False, "upgrade a finalized feature from existing maxVersionLevel:3 to the same"),
        ("f", 2, False, "without setting the allowDowngrade flag in the request"),
        ("f", 4, True, "can not be greater than existing maxVersionLevel:3"),
        ("f", 1, True, "lower than the existing minVersionLevel:2"),
        ("f", 4, False, "brokers were found to have incompatible versions"),
    ],
)
def test_impossible_updates_are_refused(
    name: str, level: int, may_downgrade: bool, message: str
) -> None:
    cluster = a_cluster(f=(2, 3))
    before = feature_znode(cluster)
    refusal = update(cluster, name, level, may_downgrade=may_downgrade)
    assert isinstance(refusal, InvalidRequestError)
    assert message in str(refusal)
    assert feature_znode(cluster) == before


def test_level_that_one_broker_lacks_is_refused() -> None:
    cluster = a_cluster(f=(1, 3))
    assert update(cluster, "f", 2, may_downgrade=True) is None
    cluster.supported_features = {"f": (1, 2)}
    cluster.start_broker(2)
    assert cluster.controller.context.live_broker_ids == [1, 2]
    refusal = update(cluster, "f", 3)
    assert "incompatible" in str(refusal)
