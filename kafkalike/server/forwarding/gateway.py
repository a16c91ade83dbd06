"""The cluster as the clients of a gateway listener see it: this broker, and nothing else.

It leads, coordinates and controls everything. Leader epochs stay the true ones, for clients check
their positions against them; and each replica is listed, all under the one node id, so that their
number and that of those in sync are true.
"""

from kafkalike.model.broker import Node
from kafkalike.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker

NOBODY = -1


def disguise(response: MetadataResponse, gateway: Node) -> None:
    """Make this broker the only one of a Metadata answer."""
    response.brokers = [
        MetadataResponseBroker(
            node_id=gateway.id, host=gateway.host, port=gateway.port, rack=gateway.rack
        )
    ]
    response.controller_id = stand_in(response.controller_id, gateway)
    for topic in response.topics:
        for partition in topic.partitions:
            partition.leader_id = stand_in(partition.leader_id, gateway)
            partition.replica_nodes = [gateway.id] * len(partition.replica_nodes)
            partition.isr_nodes = [gateway.id] * len(partition.isr_nodes)
            partition.offline_replicas = [gateway.id] * len(partition.offline_replicas)


def stand_in(broker_id: int, gateway: Node) -> int:
    """Return the gateway's id in place of a broker's; nobody stays nobody."""
    return broker_id if broker_id == NOBODY else gateway.id
