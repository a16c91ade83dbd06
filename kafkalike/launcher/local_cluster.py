"""A cluster on this machine: ensemble and brokers in one folder, started, changed and stopped.

The folder is the cluster: `zookeeper` (unless one that exists is used), `broker-0` and so on,
`cluster.properties` (what the user set for all brokers) and `cluster.json`. Blocking code for
command lines and tests; the brokers have no part in it.
"""

import contextlib
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Self

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.errors import ConfigError
from kafkalike.config.sources import format_properties, read_properties
from kafkalike.launcher.broker_properties import broker_properties
from kafkalike.launcher.cluster_file import (
    CLUSTER_FILE,
    ClusterRecord,
    Member,
    locked,
    read_record,
    write_record,
)
from kafkalike.launcher.errors import ClusterError
from kafkalike.launcher.local_broker import LocalBroker
from kafkalike.zk.embedded.ensemble import Ensemble
from kafkalike.zk.embedded.server import ZooKeeperServer
from kafkalike.zk.embedded.server_config import EnsembleConfig

_SETTINGS_FILE: Final = "cluster.properties"
_ZOOKEEPER: Final = "zookeeper"


class LocalCluster:
    """The processes of one cluster, running or not; `save` writes down what runs."""

    def __init__(
        self,
        directory: Path,
        zookeeper_connect: str,
        settings: Mapping[str, str],
        ensemble: Ensemble | None,
    ) -> None:
        self.directory = directory.resolve()
        self.zookeeper_connect = zookeeper_connect
        self.settings = dict(settings)
        self.ensemble = ensemble
        self.brokers: dict[int, LocalBroker] = {}

    @classmethod
    def exists(cls, directory: Path) -> bool:
        """Whether there is a cluster in the folder."""
        return (directory / CLUSTER_FILE).exists()

    @classmethod
    def create(
        cls,
        directory: Path,
        *,
        zookeeper: EnsembleConfig | str,
        settings: Mapping[str, str],
    ) -> Self:
        """Lay out a cluster without brokers; its ZooKeeper is to be made, or exists there."""
        directory.mkdir(parents=True, exist_ok=True)
        if isinstance(zookeeper, str):
            cluster = cls(directory, zookeeper, settings, None)
        else:
            ensemble = Ensemble.create(directory / _ZOOKEEPER, zookeeper)
            cluster = cls(directory, ensemble.connect_string, settings, ensemble)
        cluster.change_settings({})
        return cluster

    @classmethod
    def open(cls, directory: Path) -> Self:
        """Find the cluster that was laid out in a folder."""
        record = read_record(directory)
        if record is None:
            raise ClusterError(
                f"there is no cluster in {directory}: make one with kafkalike cluster up"
                f" --dir {directory}"
            )
        is_embedded = (directory / _ZOOKEEPER).exists()
        ensemble = Ensemble.open(directory / _ZOOKEEPER) if is_embedded else None
        settings = read_properties(directory / _SETTINGS_FILE)
        cluster = cls(directory, record.zookeeper_connect, settings, ensemble)
        for member in record.brokers:
            cluster._know(member.id, member.port, member.log_dirs)
        return cluster

    @property
    def bootstrap_servers(self) -> str:
        """All brokers, as clients want them."""
        return ",".join(broker.address for broker in self.brokers.values())

    @property
    def servers(self) -> tuple[ZooKeeperServer, ...]:
        """The ZooKeeper servers of the folder; none where an ensemble that exists is used."""
        return self.ensemble.servers if self.ensemble is not None else ()

    @property
    def is_running(self) -> bool:
        """Whether any process of the cluster runs."""
        brokers = any(broker.is_running for broker in self.brokers.values())
        return brokers or any(server.is_running for server in self.servers)

    def broker(self, broker_id: int) -> LocalBroker:
        """Return one broker; ClusterError if the cluster has none with this id."""
        try:
            return self.brokers[broker_id]
        except KeyError:
            known = ", ".join(map(str, self.brokers)) or "none"
            raise ClusterError(f"there is no broker {broker_id} here, only {known}") from None

    def add_broker(self, broker_id: int, port: int, *, broker_count: int) -> LocalBroker:
        """Lay out one more broker; `broker_count` is how many there will be in the end."""
        log_dirs = self._write_properties(broker_id, port, broker_count)
        return self._know(broker_id, port, log_dirs)

    def change_settings(self, settings: Mapping[str, str]) -> None:
        """Set properties for all brokers; those that run have them after their next start."""
        self.settings.update(settings)
        for broker in list(self.brokers.values()):
            self.add_broker(broker.broker_id, broker.port, broker_count=len(self.brokers))
        text = format_properties(self.settings.items())
        (self.directory / _SETTINGS_FILE).write_text(text)

    def remove_broker(self, broker_id: int) -> None:
        """Forget a broker that is stopped, and remove what is left in its folder."""
        broker = self.brokers.pop(broker_id)
        for path in map(Path, broker.log_dirs):
            # The user may have set a folder of his own: only what is Kafka's goes.
            if (path / "meta.properties").exists():
                shutil.rmtree(path, ignore_errors=True)
        shutil.rmtree(broker.home, ignore_errors=True)

    def save(self) -> None:
        """Write cluster.json."""
        record = ClusterRecord(
            bootstrap_servers=self.bootstrap_servers,
            zookeeper_connect=self.zookeeper_connect,
            brokers=tuple(_broker_member(broker) for broker in self.brokers.values()),
            zookeepers=tuple(_server_member(server) for server in self.servers),
        )
        write_record(self.directory, record)

    def wipe(self) -> None:
        """Remove all that the cluster wrote; it must be stopped."""
        for broker_id in list(self.brokers):
            self.remove_broker(broker_id)
        shutil.rmtree(self.directory / _ZOOKEEPER, ignore_errors=True)
        for name in (CLUSTER_FILE, _SETTINGS_FILE):
            (self.directory / name).unlink(missing_ok=True)

    def _know(self, broker_id: int, port: int, log_dirs: Iterable[str]) -> LocalBroker:
        broker = LocalBroker(broker_id, port, self._home(broker_id), tuple(log_dirs))
        self.brokers[broker_id] = broker
        return broker

    def _home(self, broker_id: int) -> Path:
        return self.directory / f"broker-{broker_id}"

    def _write_properties(self, broker_id: int, port: int, broker_count: int) -> list[str]:
        """Write a broker's server.properties and return its log directories."""
        home = self._home(broker_id)
        properties = broker_properties(
            self.settings,
            broker_id=broker_id,
            port=port,
            log_dir=str(home / "data"),
            zookeeper_connect=self.zookeeper_connect,
            broker_count=broker_count,
        )
        try:
            config = BrokerConfig.from_properties(properties)
        except ConfigError as error:
            raise ClusterError(f"broker {broker_id}: {error}") from error
        home.mkdir(parents=True, exist_ok=True)
        (home / "server.properties").write_text(format_properties(properties.items()))
        return [str((home / path).resolve()) for path in config.log_directories]


def check_ports(zookeeper: EnsembleConfig | str, broker_ports: Iterable[int]) -> None:
    """Refuse a cluster whose ports are taken before anything of it is there."""
    for number, port in enumerate(broker_ports):
        LocalBroker(number, port, Path(), ()).check_port()
    if isinstance(zookeeper, EnsembleConfig):
        for server in Ensemble(Path(), zookeeper).servers:
            server.check_ports()


@contextlib.contextmanager
def changing(directory: Path) -> Iterator[LocalCluster]:
    """Open a cluster for a change: other commands wait, and find what became of it written down."""
    LocalCluster.open(directory)  # where none is, no lock file shall be left
    with locked(directory):
        cluster = LocalCluster.open(directory)
        try:
            yield cluster
        finally:
            cluster.save()


def _broker_member(broker: LocalBroker) -> Member:
    return Member(id=broker.broker_id, port=broker.port, pid=broker.pid, log_dirs=broker.log_dirs)


def _server_member(server: ZooKeeperServer) -> Member:
    return Member(
        id=server.server_id, port=server.port, pid=server.pid, log_dirs=(str(server.data_dir),)
    )
