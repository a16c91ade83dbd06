"""A real ZooKeeper ensemble on free ports, for tests and the benchmark.

`ensemble.servers` are the single servers (`kill()`, `stop()`, `start()`), `ensemble.leader` is the
one that leads now; `ensemble.wait_until_serving()` after a change.
"""

from pathlib import Path

from kafkalike.utils.tcp_port import can_listen
from kafkalike.zk.embedded.ensemble import Ensemble
from kafkalike.zk.embedded.server_config import HOST, EnsembleConfig, ServerPorts
from tests.support.ports import free_port

__all__ = ["Ensemble", "ensemble_config", "free_base_port", "start_ensemble"]


def start_ensemble(directory: Path, servers: int, *, java: Path | None = None) -> Ensemble:
    """Start an ensemble of 1, 3, 5 or 7 servers and wait until all of them serve."""
    ensemble = Ensemble.create(directory, ensemble_config(servers), java=java)
    ensemble.start()
    return ensemble


def ensemble_config(servers: int) -> EnsembleConfig:
    """Free ports, and a short tick: sessions may be as short as a second."""
    return EnsembleConfig(
        ports=tuple(_free_ports(is_alone=servers == 1) for _ in range(servers)),
        tick_time_ms=500,
        # In ticks: as patient as with the usual tick, for machines that are busy with tests.
        init_limit_ticks=20,
        sync_limit_ticks=20,
        is_synced_to_disk=False,
    )


def free_base_port(servers: int) -> int:
    """Return a first port for `kafkalike zookeeper up --port` whose ensemble has all ports free."""
    while True:
        port = free_port()
        ports = EnsembleConfig.at(port, servers).ports
        if all(can_listen(HOST, number) for of_server in ports for number in of_server.all()):
            return port


def _free_ports(*, is_alone: bool) -> ServerPorts:
    if is_alone:
        return ServerPorts(client=free_port())
    return ServerPorts(client=free_port(), quorum=free_port(), election=free_port())
