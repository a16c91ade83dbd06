"""`kafkalike cluster up`: ensemble and brokers, in the foreground or left running."""

import signal
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import click

from kafkalike.cli.cluster.down import stop_cluster
from kafkalike.cli.cluster.screen import (
    count,
    directory_option,
    errors_as_sentences,
    progress,
    step,
)
from kafkalike.config.sources import parse_overrides
from kafkalike.launcher.broker_properties import DEFAULT_PORT
from kafkalike.launcher.cluster_file import locked
from kafkalike.launcher.errors import ClusterError
from kafkalike.launcher.fork_server import ForkServer
from kafkalike.launcher.local_broker import LocalBroker
from kafkalike.launcher.local_cluster import LocalCluster, changing, check_ports
from kafkalike.launcher.starting import start_brokers, wait_until_registered
from kafkalike.zk.embedded.server_config import DEFAULT_PORT as ZK_DEFAULT_PORT
from kafkalike.zk.embedded.server_config import EnsembleConfig

_BROKERS: Final = 3
_ZOOKEEPERS: Final = 3
_WATCH_S: Final = 0.5


class _Wish(NamedTuple):
    """What the user said about the cluster; None is what is there, or else the default."""

    brokers: int | None
    zookeepers: int | None
    port: int | None
    zk_port: int | None
    first_id: int | None
    zookeeper: str | None


@click.command()
@click.option("--brokers", type=click.IntRange(min=1), help=f"How many.  [default: {_BROKERS}]")
@click.option("--zookeepers", type=int, help=f"1, 3, 5 or 7.  [default: {_ZOOKEEPERS}]")
@click.option(
    "--port",
    type=click.IntRange(1, 65_535),
    help=f"Port of the first broker; the next ones follow.  [default: {DEFAULT_PORT}]",
)
@click.option(
    "--zk-port",
    type=click.IntRange(1, 65_535),
    help=f"Port of the first ZooKeeper; quorum and election: +707, +1707."
    f"  [default: {ZK_DEFAULT_PORT}]",
)
@click.option(
    "--first-id", type=click.IntRange(min=0), help="Id of the first broker.  [default: 0]"
)
@click.option(
    "--zookeeper",
    metavar="HOST:PORT,…/CHROOT",
    help="Use a ZooKeeper that exists instead of starting one.",
)
@directory_option
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A property for all brokers; {id} and {port} in it are the broker's own.",
)
@click.option("--detach", is_flag=True, help="Leave all running and return.")
def up(
    directory: Path, settings: tuple[str, ...], detach: bool, **wishes: int | str | None
) -> None:
    """Start a cluster on this machine, or those parts of it that do not run.

    Kafka's defaults hold. For a topic that keeps every acknowledged record when a broker is lost:
    replication factor 3 and min.insync.replicas=2, for all topics with
    --set default.replication.factor=3 --set min.insync.replicas=2.
    """
    wish = _Wish(**wishes)  # type: ignore[arg-type]  # click has checked the types
    started = time.perf_counter()
    with errors_as_sentences():
        # SIGTERM as Ctrl-C: both end what was started before they end this process.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with locked(directory):
            cluster = _lay_out(directory, wish, parse_overrides(settings))
            start_cluster(cluster)
        click.echo(f"bootstrap.servers={cluster.bootstrap_servers}")
        click.echo(f"zookeeper.connect={cluster.zookeeper_connect}")
        click.echo(f"up after {time.perf_counter() - started:.1f} s")
        if detach:
            click.echo(f"stop with: kafkalike cluster down --dir {directory}")
        else:
            click.echo("stop with Ctrl-C")
            _run_until_interrupted(directory)


def start_cluster(cluster: LocalCluster) -> None:
    """Start what does not run, with progress on screen, and write it down."""
    try:
        with ForkServer() as fork_server:  # it gets ready while ZooKeeper comes up
            if cluster.ensemble is not None:
                with step(f"ZooKeeper: {count(len(cluster.servers), 'server')}") as result:
                    cluster.ensemble.start()
                    result.append(f"{cluster.ensemble.leader} leads")
            start_with_progress(cluster, cluster.brokers.values(), fork_server)
    finally:
        cluster.save()


def start_with_progress(
    cluster: LocalCluster, wanted: Iterable[LocalBroker], fork_server: ForkServer
) -> None:
    """Start those brokers that do not run, and wait until they are known to the cluster."""
    stopped = [broker for broker in wanted if not broker.is_running]
    if stopped:
        with progress(f"starting {count(len(stopped), 'broker')}", len(stopped)) as advance:
            start_brokers(stopped, fork_server, lambda _: advance(1))
        running = [b for b in cluster.brokers.values() if b.is_running]
        wait_until_registered(stopped, [broker.broker_id for broker in running])


def _lay_out(directory: Path, wish: _Wish, settings: dict[str, str]) -> LocalCluster:
    if not LocalCluster.exists(directory):
        return _create(directory, wish, settings)
    cluster = LocalCluster.open(directory)
    _check_same(cluster, wish)
    if settings:
        cluster.change_settings(settings)
    return cluster


def _create(directory: Path, wish: _Wish, settings: dict[str, str]) -> LocalCluster:
    brokers = wish.brokers or _BROKERS
    first_id, first_port = wish.first_id or 0, wish.port or DEFAULT_PORT
    if first_port + brokers - 1 > 65_535:
        raise ClusterError(
            f"port {first_port + brokers - 1} of the last broker is out of range: choose a lower"
            " one for the first with --port"
        )
    zookeeper = wish.zookeeper or EnsembleConfig.at(
        wish.zk_port or ZK_DEFAULT_PORT, wish.zookeepers or _ZOOKEEPERS
    )
    check_ports(zookeeper, range(first_port, first_port + brokers))
    cluster = LocalCluster.create(directory, zookeeper=zookeeper, settings=settings)
    for number in range(brokers):
        cluster.add_broker(first_id + number, first_port + number, broker_count=brokers)
    return cluster


def _check_same(cluster: LocalCluster, wish: _Wish) -> None:
    """Refuse to make another cluster of the one that is in the folder."""
    brokers = list(cluster.brokers.values())
    found = _Wish(
        brokers=len(brokers),
        zookeepers=len(cluster.servers),
        port=brokers[0].port if brokers else None,
        zk_port=cluster.servers[0].port if cluster.servers else None,
        first_id=brokers[0].broker_id if brokers else None,
        zookeeper=cluster.zookeeper_connect,
    )
    for name, wanted in wish._asdict().items():
        there = found._asdict()[name]
        if wanted is not None and wanted != there:
            option = f"--{name.replace('_', '-')}"
            raise ClusterError(
                f"{cluster.directory} holds a cluster with {option} {there}, not {wanted}: leave"
                f" {option} out, change the cluster with cluster add or decommission, or choose"
                " another folder with --dir"
            )


def _run_until_interrupted(directory: Path) -> None:
    try:
        _watch(directory)
    except KeyboardInterrupt:
        click.echo("\nstopping")
    finally:
        if LocalCluster.exists(directory):  # `down --wipe` may have been here
            with changing(directory) as cluster:
                stop_cluster(cluster)


def _watch(directory: Path) -> None:
    """Tell when members end or come, other commands being at work too; return when all ended."""
    before: dict[str, bool] | None = None
    while LocalCluster.exists(directory):
        now = _running(LocalCluster.open(directory))
        for name in now if before is not None else ():
            if before is not None and now[name] != before.get(name, False):
                click.echo(f"{name} {'runs' if now[name] else 'ended'}")
        if not any(now.values()):
            return
        before = now
        time.sleep(_WATCH_S)


def _running(cluster: LocalCluster) -> dict[str, bool]:
    members: list[object] = [*cluster.servers, *cluster.brokers.values()]
    states = [*(s.is_running for s in cluster.servers)]
    states += [broker.is_running for broker in cluster.brokers.values()]
    return {str(member): state for member, state in zip(members, states, strict=True)}
