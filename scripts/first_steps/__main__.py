"""`scripts/quickstart`: a cluster up, messages in and out, on screen."""

import contextlib
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from kafkalike.cli.cluster.screen import count, errors_as_sentences, step
from kafkalike.launcher.broker_properties import DEFAULT_PORT
from kafkalike.launcher.errors import ClusterError
from kafkalike.launcher.fork_server import ForkServer
from kafkalike.launcher.local_broker import LocalBroker
from kafkalike.launcher.local_cluster import LocalCluster, check_ports
from kafkalike.launcher.starting import start_brokers, stop_brokers, wait_until_registered
from kafkalike.zk.embedded.server_config import DEFAULT_PORT as ZK_DEFAULT_PORT
from kafkalike.zk.embedded.server_config import EnsembleConfig
from scripts.first_steps.leaders import Leaders
from scripts.first_steps.messages import PARTITIONS, compare, create_topic, fetch, make, produce
from scripts.first_steps.trucks import (
    JobEndedError,
    TruckJob,
    has_spark,
    show_live,
    table,
    wait_for_all,
)

_TOPIC = "quickstart"
_WATCH_S = 0.5


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--once", is_flag=True, help="Stop everything at the end; exit code 0 only if right.")
@click.option("--messages", default=10_000, show_default=True, help="How many go in and come out.")
@click.option("--brokers", default=3, show_default=True, help="How many.")
@click.option("--spark/--no-spark", default=True, show_default=True, help="End with a Spark job.")
@click.option("--zookeepers", default=3, show_default=True, help="ZooKeeper servers: 1, 3, 5 or 7.")
@click.option("--port", default=DEFAULT_PORT, show_default=True, help="Port of the first broker.")
@click.option(
    "--zk-port", default=ZK_DEFAULT_PORT, show_default=True, help="Port of the first ZooKeeper."
)
@click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep all data here; without it, it is removed at the end.",
)
def main(
    once: bool,
    messages: int,
    brokers: int,
    spark: bool,
    zookeepers: int,
    port: int,
    zk_port: int,
    directory: Path | None,
) -> None:
    """Start a cluster, move messages through it, and let a Spark job work on a stream of them."""
    # SIGTERM as Ctrl-C: what was started is stopped before the end.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with errors_as_sentences(), _folder(directory) as home, contextlib.ExitStack() as started:
            cluster = _lay_out(home, EnsembleConfig.at(zk_port, zookeepers), port, brokers)
            started.callback(_stop, cluster)
            _start(cluster)
            _move_messages(list(cluster.brokers.values()), messages)
            job = _start_trucks(cluster, started) if spark else None
            if job is not None and once:
                _show_trucks(job)
            if not once:
                _show_next_steps(cluster)
                with contextlib.suppress(KeyboardInterrupt):
                    _watch(cluster, job)
                click.echo()
    except KeyboardInterrupt:
        raise SystemExit(130) from None  # before every message was back: not a success


@contextlib.contextmanager
def _folder(directory: Path | None) -> Iterator[Path]:
    if directory is not None:
        yield directory.resolve()
        return
    temporary = Path(tempfile.mkdtemp(prefix="kafkalike-quickstart-"))
    try:
        yield temporary
    except Exception:
        click.echo(f"data and logs are kept in {temporary}")
        raise
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    shutil.rmtree(temporary, ignore_errors=True)


def _lay_out(home: Path, ensemble: EnsembleConfig, port: int, brokers: int) -> LocalCluster:
    """Find the cluster of an earlier run in the folder, or make one."""
    if LocalCluster.exists(home):
        return LocalCluster.open(home)
    check_ports(ensemble, range(port, port + brokers))
    cluster = LocalCluster.create(home, zookeeper=ensemble, settings={})
    for number in range(brokers):
        cluster.add_broker(number, port + number, broker_count=brokers)
    cluster.save()
    return cluster


def _start(cluster: LocalCluster) -> None:
    with ForkServer() as fork_server:
        if cluster.ensemble is not None:
            with step(f"1. ZooKeeper: {count(len(cluster.servers), 'server')}") as result:
                cluster.ensemble.start()
                result.append(f"{cluster.ensemble.leader} leads")
        brokers = list(cluster.brokers.values())
        with step(f"2. {count(len(brokers), 'broker')}") as result:
            start_brokers(brokers, fork_server, lambda _: None)
            wait_until_registered(brokers, cluster.brokers)
            cluster.save()
            result.append(f"at {cluster.bootstrap_servers}")


def _stop(cluster: LocalCluster) -> None:
    try:
        with step("stopping the brokers"):
            _stop_brokers(cluster)
        with step("stopping ZooKeeper"):
            _stop_zookeeper(cluster)
    finally:
        # Again, which does no harm: the screen may be gone, as with `quickstart | head`.
        _stop_brokers(cluster)
        _stop_zookeeper(cluster)
        cluster.save()


def _stop_brokers(cluster: LocalCluster) -> None:
    stop_brokers(list(cluster.brokers.values()), lambda _: None)


def _stop_zookeeper(cluster: LocalCluster) -> None:
    if cluster.ensemble is not None:
        cluster.ensemble.stop()


def _move_messages(brokers: Sequence[LocalBroker], number: int) -> None:
    sent = make(number)
    replicas = min(3, len(brokers))
    with Leaders(_TOPIC, [broker.port for broker in brokers]) as leaders:
        with step(f"3. topic {_TOPIC}: {PARTITIONS} partitions, {count(replicas, 'replica')} each"):
            create_topic(leaders, _TOPIC, replicas)
        with step(f"4. {number} messages in, each acknowledged by all in-sync replicas"):
            positions = produce(leaders, _TOPIC, sent)
        with step("5. messages out") as result:
            received = fetch(leaders, _TOPIC, positions, sent)
            result.append(compare(sent, received))


def _start_trucks(cluster: LocalCluster, started: contextlib.ExitStack) -> TruckJob | None:
    if not has_spark():
        click.echo("6. no Spark job: pip install 'kafkalike[spark]' for the last step")
        return None
    job = TruckJob(cluster.directory, cluster.bootstrap_servers, min(3, len(cluster.brokers)))
    started.callback(job.stop)
    with step("6. trucks send their positions, a Spark job reads them") as result:
        job.start()
        result.append(f"it says more in {job.log}")
    return job


def _show_trucks(job: TruckJob) -> None:
    with step("7. speed and distance of each truck and minute, exactly once") as result:
        rows = wait_for_all(job)
        result.append(f"{count(len(rows), 'truck')}")
    for line in table(rows):
        click.echo(line)


def _watch(cluster: LocalCluster, job: TruckJob | None) -> None:
    """Show results until a broker ends by itself and is not back soon, which should not happen."""

    def is_up() -> bool:
        return any(broker.is_running for broker in cluster.brokers.values())

    if job is not None:
        click.echo("\n7. speed and distance of each truck in its last minute (Spark is starting):")
        try:
            show_live(job, is_up)
        except JobEndedError as error:
            click.echo(str(error))  # The cluster stays.
    while is_up():
        time.sleep(_WATCH_S)
    raise ClusterError(f"all brokers ended; their logs are in {cluster.directory}")


def _show_next_steps(cluster: LocalCluster) -> None:
    kafkalike = Path(__file__).parents[2] / ".venv/bin/kafkalike"
    home, first = cluster.directory, next(iter(cluster.brokers.values()))
    click.echo(
        f"""
Everything runs; data and logs are in {home}. Try, in another shell:

  {kafkalike} cluster status --dir {home}
  {kafkalike} cluster kill {first.broker_id} --dir {home}
  {kafkalike} cluster start {first.broker_id} --dir {home}
  kcat -b {first.address} -L
  kcat -b {first.address} -C -t {_TOPIC} -o beginning -e -K :
  echo truck-7:on the road | kcat -b {first.address} -P -t {_TOPIC} -K :

or point any Kafka client at bootstrap.servers={cluster.bootstrap_servers}
Ctrl-C stops everything."""
    )


if __name__ == "__main__":
    main(prog_name="scripts/quickstart")
