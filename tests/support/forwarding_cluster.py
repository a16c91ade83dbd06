"""Three brokers, each with a plain listener, one without forwarding, and a gateway."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafkalike.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateableTopicConfig,
    CreateTopicsRequest,
)
from kafkalike.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kafkalike.protocol.messages.metadata import MetadataRequest
from tests.support import wire
from tests.support.broker import Broker
from tests.support.ports import free_ports
from tests.support.target import unique_topic
from tests.support.waiting import wait_until

BROKERS: Final = (1, 2, 3)
_HOST: Final = "127.0.0.1"
_TIMEOUT_MS: Final = 30_000


class ForwardingCluster:
    """Brokers 1 to 3 by id, and the ports of their listeners."""

    def __init__(
        self, make: Callable[..., Broker], settings: Mapping[str, str] | None = None
    ) -> None:
        self.brokers: dict[int, Broker] = {}
        self.ports: dict[str, dict[int, int]] = {"PLAINTEXT": {}, "REFUSING": {}, "GATEWAY": {}}
        for broker_id in BROKERS:
            for listener, port in zip(self.ports, free_ports(3), strict=True):
                self.ports[listener][broker_id] = port
            properties = {**self._properties(broker_id), **(settings or {})}
            broker = make(broker_id=broker_id, properties=properties, is_started=False)
            broker.port = self.ports["PLAINTEXT"][broker_id]
            self.brokers[broker_id] = broker
        for broker in self.brokers.values():
            broker.start_without_waiting()
        for broker in self.brokers.values():
            broker.wait_for_log("is started")
        with self.connect(1) as client:
            wait_until(lambda: self._is_complete(client), 30, "a controller and three brokers")

    def _properties(self, broker_id: int) -> dict[str, str]:
        listeners = [f"{name}://{_HOST}:{ports[broker_id]}" for name, ports in self.ports.items()]
        return {
            "listeners": ",".join(listeners),
            "listener.security.protocol.map": (
                "PLAINTEXT:PLAINTEXT,REFUSING:PLAINTEXT,GATEWAY:PLAINTEXT"
            ),
            "listener.name.refusing.forwarding.enable": "false",
            "listener.name.gateway.gateway": "true",
            "auto.leader.rebalance.enable": "false",
            "zookeeper.session.timeout.ms": "6000",
            "controlled.shutdown.retry.backoff.ms": "100",
        }

    @staticmethod
    def _is_complete(client: SimpleClient) -> bool:
        answer = client.send(MetadataRequest(topics=[]))
        return len(answer.brokers) == len(BROKERS) and answer.controller_id in BROKERS

    def connect(
        self,
        broker_id: int,
        listener: str = "PLAINTEXT",
        *,
        client_id: str | None = "simple",
        timeout_s: float = 30.0,
    ) -> SimpleClient:
        """Open a connection to a listener of a broker."""
        port = self.ports[listener][broker_id]
        return SimpleClient(_HOST, port, client_id=client_id, timeout_s=timeout_s)

    def address(self, broker_id: int, listener: str) -> str:
        """The listener's address, as clients want it."""
        return f"{_HOST}:{self.ports[listener][broker_id]}"

    def create_topic(
        self,
        *assignment: Sequence[int],
        configs: Mapping[str, str] | None = None,
        through: int = 1,
    ) -> str:
        """Create a topic with these replicas for its partitions, the first of each leading."""
        name = unique_topic("forwarded")
        topic = CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[
                CreatableReplicaAssignment(partition_index=p, broker_ids=list(replicas))
                for p, replicas in enumerate(assignment)
            ],
            configs=[CreateableTopicConfig(name=k, value=v) for k, v in (configs or {}).items()],
        )
        with self.connect(through) as client:
            request = CreateTopicsRequest(topics=[topic], timeout_ms=_TIMEOUT_MS)
            (made,) = client.send(request).topics
        assert made.error_code == ErrorCode.NONE, made
        for broker_id in BROKERS:
            self.wait_until_known(name, len(assignment), broker_id)
        return name

    def wait_until_known(self, topic: str, partitions: int, broker_id: int) -> None:
        """Wait until a broker knows the leaders of a topic."""
        if not self.brokers[broker_id].is_alive:
            return
        with self.connect(broker_id) as client:
            wait_until(lambda: wire.is_led(client, topic, partitions), 20, f"leaders of {topic}")

    def controller_id(self) -> int:
        """The broker that is the controller."""
        with self.connect(self._someone()) as client:
            return int(client.send(MetadataRequest(topics=[])).controller_id)

    def _someone(self) -> int:
        return next(i for i, broker in self.brokers.items() if broker.is_alive)

    def move_leader(self, topic: str, partition: int, *, to: int) -> None:
        """Make a replica the preferred one and have it elected; returns when all brokers know."""
        with self.connect(self._someone()) as client:
            state = wire.metadata(client, topic).partitions[partition]
            order = [to, *(replica for replica in state.replica_nodes if replica != to)]
            assert client.send(_reassignment(topic, partition, order)).error_code == ErrorCode.NONE
            wait_until(lambda: _elect(client, topic, partition), 30, f"election of {to}")
        for broker_id, broker in self.brokers.items():
            if broker.is_alive:
                with self.connect(broker_id) as client:
                    wait_until(lambda: _leader(client, topic, partition) == to, 20, f"leader {to}")

    def restart(self, broker_id: int) -> None:
        """Start a broker that was killed, and wait until the cluster is whole again."""
        self.brokers[broker_id].start()
        self.brokers[broker_id].wait_for_log("is started")
        for each in BROKERS:
            with self.connect(each) as client:
                wait_until(lambda: self._is_complete(client), 30, "three brokers")

    def connections_between(self, broker_id: int, other: int) -> int:
        """Count the connections that one broker has opened to another's plain listener."""
        pid = self.brokers[broker_id].broker_pid
        sockets = set()
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                sockets.add(str(descriptor.readlink()))
        port = self.ports["PLAINTEXT"][other]
        return sum(
            _is_established(line, port) and f"socket:[{line.split()[9]}]" in sockets
            for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        )


def _is_established(line: str, port: int) -> bool:
    """Whether a line of /proc/net/tcp is a connection that stands and leads to a port."""
    remote, state = line.split()[2:4]
    return state == "01" and int(remote.rpartition(":")[2], 16) == port


def _leader(client: SimpleClient, topic: str, partition: int) -> int:
    return int(wire.metadata(client, topic).partitions[partition].leader_id)


def _reassignment(
    topic: str, partition: int, replicas: list[int]
) -> AlterPartitionReassignmentsRequest:
    one = ReassignablePartition(partition_index=partition, replicas=replicas)
    topics = [ReassignableTopic(name=topic, partitions=[one])]
    return AlterPartitionReassignmentsRequest(timeout_ms=_TIMEOUT_MS, topics=topics)


def _elect(client: SimpleClient, topic: str, partition: int) -> bool:
    wanted = [TopicPartitions(topic=topic, partition_id=[partition])]
    request = ElectLeadersRequest(election_type=0, topic_partitions=wanted, timeout_ms=_TIMEOUT_MS)
    answer = client.send(request)
    codes = {r.error_code for t in answer.replica_election_results for r in t.partition_result}
    return not answer.error_code and codes <= {ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED}
