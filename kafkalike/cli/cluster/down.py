"""`kafkalike cluster down`: stop everything, brokers before ZooKeeper."""

import shutil
from pathlib import Path

import click

from kafkalike.cli.cluster.screen import (
    count,
    directory_option,
    errors_as_sentences,
    progress,
    step,
)
from kafkalike.launcher.local_cluster import LocalCluster, changing
from kafkalike.launcher.starting import stop_brokers


@click.command()
@directory_option
@click.option("--wipe", is_flag=True, help="Remove the data, too.")
def down(directory: Path, wipe: bool) -> None:
    """Stop the brokers in order and then ZooKeeper; the data stays."""
    with errors_as_sentences():
        with changing(directory) as cluster:
            was_running = cluster.is_running
            stop_cluster(cluster)
        if not was_running:
            click.echo("nothing was running")
        if wipe:
            _wipe(cluster)


def stop_cluster(cluster: LocalCluster) -> None:
    """Stop what runs, with progress on screen."""
    running = [broker for broker in cluster.brokers.values() if broker.is_running]
    if running:
        with progress(f"stopping {count(len(running), 'broker')}", len(running)) as advance:
            killed = stop_brokers(running, lambda _: advance(1))
        for broker in killed:
            click.echo(f"{broker} did not stop in time and was killed", err=True)
    if cluster.ensemble is not None and any(s.is_running for s in cluster.servers):
        with step("stopping ZooKeeper"):
            cluster.ensemble.stop()


def _wipe(cluster: LocalCluster) -> None:
    cluster.wipe()
    if not [path for path in cluster.directory.iterdir() if path.name != ".lock"]:
        shutil.rmtree(cluster.directory, ignore_errors=True)
    click.echo(f"removed the data in {cluster.directory}")
    if cluster.ensemble is None:
        click.echo(
            f"what the cluster wrote to ZooKeeper at {cluster.zookeeper_connect} is still there"
        )
