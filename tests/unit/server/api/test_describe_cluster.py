"""DescribeCluster."""

from kafkalike.protocol.messages.describe_cluster import DescribeClusterRequest
from tests.support.admin_broker import AdminBroker, a_broker
from tests.support.golden_answers import golden_exchanges


def test_cluster_is_described() -> None:
    broker = AdminBroker(brokers=2)
    broker.brokers[2] = a_broker(2, "a-rack")
    broker.react()
    answer = broker.ask(DescribeClusterRequest())
    assert (answer.cluster_id, answer.controller_id) == ("a-cluster-id", 1)
    assert [(b.broker_id, b.host, b.port, b.rack) for b in answer.brokers] == [
        (1, "host1", 9092, None),
        (2, "host2", 9092, "a-rack"),
    ]


def test_operations_are_told_only_if_asked_for() -> None:
    seen = set()
    for version, request, theirs in golden_exchanges(DescribeClusterRequest):
        ours = AdminBroker().ask(request, version)
        assert ours.cluster_authorized_operations == theirs.cluster_authorized_operations
        seen.add(request.include_cluster_authorized_operations)
    assert seen == {True, False}
