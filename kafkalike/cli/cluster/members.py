"""`kafkalike cluster kill`, `start` and `add`: single brokers of a cluster."""

import signal
from pathlib import Path
from typing import Final

import click

from kafkalike.cli.cluster.screen import directory_option, errors_as_sentences
from kafkalike.cli.cluster.up import start_with_progress
from kafkalike.launcher.errors import ClusterError
from kafkalike.launcher.fork_server import ForkServer
from kafkalike.launcher.local_cluster import changing

_SIGNALS: Final = ("KILL", "TERM", "STOP", "CONT")
_ENDING: Final = ("KILL", "TERM")


@click.command()
@click.argument("broker_id", metavar="ID", type=int)
@directory_option
@click.option(
    "--signal",
    "name",
    type=click.Choice(_SIGNALS, case_sensitive=False),
    default="KILL",
    show_default=True,
    help="KILL: a crash. TERM: a stop in order. STOP: a pause, until CONT.",
)
def kill(broker_id: int, directory: Path, name: str) -> None:
    """Send a broker a signal; after KILL and TERM wait until it is gone."""
    with errors_as_sentences(), changing(directory) as cluster:
        broker = cluster.broker(broker_id)
        pid = broker.pid
        broker.send_signal(signal.Signals[f"SIG{name}"])
        click.echo(f"{broker}, pid {pid}: {name}")
        if name in _ENDING and not broker.wait_until_ended():
            raise ClusterError(f"{broker} (pid {pid}) does not end; {broker.log_tail()}")


@click.command()
@click.argument("broker_ids", metavar="ID…", type=int, nargs=-1, required=True)
@directory_option
def start(broker_ids: tuple[int, ...], directory: Path) -> None:
    """Start brokers that were stopped or killed, and wait until the cluster knows them."""
    with errors_as_sentences(), changing(directory) as cluster:
        brokers = [cluster.broker(broker_id) for broker_id in broker_ids]
        for broker in brokers:
            if broker.is_running:
                raise ClusterError(f"{broker} runs already, pid {broker.pid}")
        with ForkServer() as fork_server:
            start_with_progress(cluster, brokers, fork_server)


@click.command()
@click.argument("number", metavar="[N]", type=click.IntRange(min=1), default=1)
@directory_option
def add(number: int, directory: Path) -> None:
    """Let N new brokers (1 unless told) join; they take the next free ids and ports."""
    with errors_as_sentences(), changing(directory) as cluster:
        count = len(cluster.brokers) + number
        broker_id = max(cluster.brokers, default=-1) + 1
        port = max(broker.port for broker in cluster.brokers.values()) + 1
        added = [
            cluster.add_broker(broker_id + n, port + n, broker_count=count) for n in range(number)
        ]
        try:
            with ForkServer() as fork_server:
                start_with_progress(cluster, added, fork_server)
        except BaseException:
            for broker in added:
                cluster.remove_broker(broker.broker_id)
            raise
        for broker in added:
            click.echo(f"broker {broker.broker_id} joined at {broker.address}")
        click.echo(
            "new topics use it now; to move existing ones there, too:"
            f" kafkalike cluster rebalance --dir {directory}"
        )
