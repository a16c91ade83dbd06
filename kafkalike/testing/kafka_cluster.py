"""A cluster for tests: a real ensemble, brokers as processes, and faults as methods.

Everything lies in one folder and listens on free ports of 127.0.0.1, so that any number of them
can run beside each other. Clients, brokers and ZooKeeper meet through a network that can be cut.
"""

import signal
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Final, Self

from kafkalike.client import KafkaAdminClient, NewTopic
from kafkalike.launcher.cluster_view import ClusterView, view_from_any
from kafkalike.launcher.errors import ClusterError
from kafkalike.launcher.fork_server import ForkServer
from kafkalike.launcher.local_broker import LocalBroker
from kafkalike.launcher.local_cluster import LocalCluster
from kafkalike.launcher.starting import start_brokers, stop_brokers
from kafkalike.testing.network import Network
from kafkalike.utils.tcp_port import FreePorts
from kafkalike.zk.embedded.server_config import HOST, EnsembleConfig, ServerPorts

TEST_SETTINGS: Final = {
    # Kafka's defaults are made for clusters that live long: nobody wants to wait for them here.
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
    "zookeeper.session.timeout.ms": "6000",
}
_TICK_MS: Final = 500
_LIMIT_TICKS: Final = 20
_ENSEMBLE_TIMEOUT_S: Final = 60
_READY_TIMEOUT_S: Final = 60.0
_POLL_S: Final = 0.02


class KafkaCluster:
    """Brokers 0, 1, 2 … and their ZooKeeper; a context manager, running inside of it.

    `configs` are settings for all brokers, by Kafka's names, also with underscores for the dots
    (`min_insync_replicas=2`).
    """

    def __init__(
        self,
        directory: Path,
        *,
        brokers: int = 3,
        zookeepers: int = 1,
        configs: Mapping[str, object] | None = None,
    ) -> None:
        self._ports = FreePorts(Random())
        self._stack = ExitStack()
        self._isolated: set[int] = set()
        settings = {
            **TEST_SETTINGS,
            **{key.replace("_", "."): _text(value) for key, value in (configs or {}).items()},
        }
        self._cluster = LocalCluster.create(
            directory, zookeeper=self._ensemble_config(zookeepers), settings=settings
        )
        self._broker_count = brokers
        self._advertised: dict[int, int] = {}

    # --- life

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:  # Ctrl-C too: nothing may be left behind
            self._stack.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _start(self) -> None:
        ensemble = self._cluster.ensemble
        assert ensemble is not None
        self._network = Network()
        self._stack.callback(self._network.close)
        self._stack.callback(ensemble.stop)
        ensemble.start(_ENSEMBLE_TIMEOUT_S)
        self._fork_server = self._stack.enter_context(ForkServer())
        for broker_id in range(self._broker_count):
            self._add_broker(broker_id)
        self._stack.callback(self._stop_brokers)
        start_brokers(list(self._cluster.brokers.values()), self._fork_server, lambda _: None)
        self.wait_until_ready()
        self._watch()

    def _add_broker(self, broker_id: int) -> None:
        broker = self._cluster.add_broker(
            broker_id, self._ports.next(), broker_count=self._broker_count
        )
        self._advertised[broker_id] = self._through_the_network(broker.port, broker_id)
        zookeepers = ",".join(
            f"{HOST}:{self._through_the_network(server.port, broker_id)}"
            for server in self._cluster.servers
        )
        with broker.properties_file.open("a") as properties:
            properties.write(f"advertised.listeners=PLAINTEXT://{self._address(broker_id)}\n")
            properties.write(f"zookeeper.connect={zookeepers}\n")

    def _through_the_network(self, target: int, broker_id: int) -> int:
        port = self._ports.next()
        self._network.listen(port, target, broker_id)
        return port

    def _stop_brokers(self) -> None:
        # Nobody needs the data any more, so nobody is asked to say goodbye.
        for broker in self._cluster.brokers.values():
            broker.kill()

    def _ensemble_config(self, servers: int) -> EnsembleConfig:
        is_alone = servers == 1
        return EnsembleConfig(
            ports=tuple(
                ServerPorts(client=self._ports.next())
                if is_alone
                else ServerPorts(
                    client=self._ports.next(),
                    quorum=self._ports.next(),
                    election=self._ports.next(),
                )
                for _ in range(servers)
            ),
            tick_time_ms=_TICK_MS,
            init_limit_ticks=_LIMIT_TICKS,
            sync_limit_ticks=_LIMIT_TICKS,
            is_synced_to_disk=False,
        )

    def _watch(self) -> None:
        """Have all processes killed should this one crash."""
        pids = [broker.pid for broker in self._cluster.brokers.values()]
        pids += [server.pid for server in self._cluster.servers]
        self._network.watch([pid for pid in pids if pid is not None])

    # --- addresses and state

    @property
    def bootstrap_servers(self) -> str:
        """All brokers, as clients want them."""
        return ",".join(map(self._address, self._advertised))

    @property
    def zookeeper_connect(self) -> str:
        """The ensemble, for tools that want it."""
        return self._cluster.zookeeper_connect

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """The ids of all brokers, running or not."""
        return tuple(self._cluster.brokers)

    def view(self) -> ClusterView:
        """Ask any broker that can be reached what the cluster looks like now."""
        reachable = [
            (HOST, broker.port)
            for broker_id, broker in self._cluster.brokers.items()
            if broker_id not in self._isolated and broker.is_running
        ]
        return view_from_any(reachable)

    def leader(self, topic: str, partition: int = 0) -> int:
        """Return which broker leads a partition now; -1 is none."""
        for tp, found in self.view().partitions.items():
            if (tp.topic, tp.partition) == (topic, partition):
                return found.leader
        raise ClusterError(f"there is no partition {partition} of topic {topic}")

    def wait_until_ready(self, timeout_s: float = _READY_TIMEOUT_S) -> None:
        """Wait until all brokers are registered and every replica is in sync."""

        def is_ready() -> bool:
            view = self.view()
            return (
                set(view.brokers) == set(self.broker_ids)
                and view.controller_id in view.brokers
                and all(p.leader >= 0 for p in view.partitions.values())
                and not view.under_replicated()
            )

        _wait(is_ready, timeout_s, "all brokers and replicas")

    def create_topic(self, name: str, partitions: int = 1, replication_factor: int = -1) -> str:
        """Create a topic, with as many replicas as there are brokers (3 at most); return its name.

        It can be used at once: all its partitions have leaders.
        """
        factor = min(3, self._broker_count) if replication_factor < 0 else replication_factor
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap_servers)
        try:
            admin.create_topics([NewTopic(name, partitions, factor)])
        finally:
            admin.close()

        def is_there() -> bool:
            found = [p for tp, p in self.view().partitions.items() if tp.topic == name]
            return len(found) == partitions and all(p.leader >= 0 for p in found)

        _wait(is_there, _READY_TIMEOUT_S, f"topic {name}")
        return name

    # --- faults

    def kill(self, broker_id: int) -> None:
        """End a broker with SIGKILL, as a crash would."""
        self._broker(broker_id).kill()

    def stop(self, broker_id: int) -> None:
        """Stop a broker in order: it hands its leaderships over."""
        stop_brokers([self._broker(broker_id)], lambda _: None)

    def pause(self, broker_id: int) -> None:
        """Freeze a broker with SIGSTOP; it does not know, and others do not hear from it."""
        self._broker(broker_id).send_signal(signal.SIGSTOP)

    def resume(self, broker_id: int) -> None:
        """Let a frozen broker go on."""
        self._broker(broker_id).send_signal(signal.SIGCONT)

    def isolate(self, broker_id: int) -> None:
        """Cut a running broker off from clients, brokers and ZooKeeper; nobody gets an error."""
        pid = self._broker(broker_id).pid
        if pid is None:
            raise ClusterError(f"broker {broker_id} does not run, so it cannot be isolated")
        self._network.isolate(broker_id, pid)
        self._isolated.add(broker_id)

    def heal(self, broker_id: int) -> None:
        """End an isolation."""
        self._network.heal(broker_id)
        self._isolated.discard(broker_id)

    def restart(self, broker_id: int) -> None:
        """Stop a broker if it runs, start it, and wait until it answers."""
        broker = self._broker(broker_id)
        self.heal(broker_id)
        stop_brokers([broker], lambda _: None)
        start_brokers([broker], self._fork_server, lambda _: None)
        self._watch()

    def _broker(self, broker_id: int) -> LocalBroker:
        return self._cluster.broker(broker_id)

    def _address(self, broker_id: int) -> str:
        return f"{HOST}:{self._advertised[broker_id]}"


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _wait(condition: Callable[[], bool], timeout_s: float, what: str) -> None:
    deadline = time.monotonic() + timeout_s
    while not _holds(condition):
        if time.monotonic() >= deadline:
            raise ClusterError(f"{what}: not there after {timeout_s:g} s")
        time.sleep(_POLL_S)


def _holds(condition: Callable[[], bool]) -> bool:
    try:
        return condition()
    except ClusterError:  # nobody answers yet
        return False
