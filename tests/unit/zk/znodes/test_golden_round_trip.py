"""Every znode that Apache Kafka 2.8.2 wrote goes through our codecs and comes out the same."""

import pytest

from tests.support.golden_zk import GoldenZnode, golden_znodes
from tests.support.znode_codecs import round_trip

# Each path once per data; most states of partitions are repeated many times.
ZNODES = list({(znode.path, znode.data): znode for znode in golden_znodes() if znode.data}.values())


@pytest.mark.parametrize("znode", ZNODES, ids=lambda znode: f"{znode.source}{znode.path}")
def test_golden_znode_round_trips_byte_for_byte(znode: GoldenZnode) -> None:
    """M66: topics, partitions, replicas, leader and ISR are byte-compatible with 2.8."""
    assert znode.data is not None
    assert round_trip(znode.path, znode.data) == znode.data


def test_golden_znodes_are_many() -> None:
    assert len(ZNODES) > 300
    assert {"/controller", "/controller_epoch", "/cluster/id"} <= {z.path for z in ZNODES}
