"""`kafkalike cluster status`: what runs, who leads, what is not in sync."""

import json
from pathlib import Path
from typing import Any

import click

from kafkalike.cli.cluster.screen import directory_option, errors_as_sentences
from kafkalike.launcher.broker_properties import HOST
from kafkalike.launcher.cluster_view import ClusterView, view_from_any
from kafkalike.launcher.errors import ClusterError
from kafkalike.launcher.local_broker import LocalBroker
from kafkalike.launcher.local_cluster import LocalCluster, changing
from kafkalike.zk.embedded.server import ZooKeeperServer


@click.command()
@directory_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def status(context: click.Context, directory: Path, as_json: bool) -> None:
    """Show the members; exit code 0 only if all run and every partition is fully in sync."""
    with errors_as_sentences():
        with changing(directory) as cluster:
            pass  # pids may have changed without us: they are written anew
        found = describe(cluster, _view(cluster))
    click.echo(json.dumps(found, indent=2) if as_json else _table(found))
    if not found["is_healthy"]:
        context.exit(1)


def describe(cluster: LocalCluster, view: ClusterView | None) -> dict[str, Any]:
    """Put together all that is known; `view` is None if no broker answers."""
    brokers = [_broker(broker, view) for broker in cluster.brokers.values()]
    zookeepers = [_server(server) for server in cluster.servers]
    under_replicated = sorted(map(str, view.under_replicated())) if view is not None else []
    return {
        "directory": str(cluster.directory),
        "bootstrap_servers": cluster.bootstrap_servers,
        "zookeeper_connect": cluster.zookeeper_connect,
        "controller": view.controller_id if view is not None else None,
        "brokers": brokers,
        "zookeepers": zookeepers,
        "partitions": len(view.partitions) if view is not None else None,
        "under_replicated": under_replicated,
        "is_healthy": view is not None
        and not under_replicated
        and all(broker["is_registered"] for broker in brokers)
        and all(server["mode"] is not None for server in zookeepers),
    }


def _view(cluster: LocalCluster) -> ClusterView | None:
    running = [broker for broker in cluster.brokers.values() if broker.is_running]
    try:
        return view_from_any((HOST, broker.port) for broker in running)
    except ClusterError:
        return None


def _broker(broker: LocalBroker, view: ClusterView | None) -> dict[str, Any]:
    number = broker.broker_id
    return {
        "id": number,
        "port": broker.port,
        "pid": broker.pid,
        "log_dirs": list(broker.log_dirs),
        "is_registered": view is not None and number in view.brokers,
        "leaders": view.led_by(number) if view is not None else None,
        "replicas": view.replicas_on(number) if view is not None else None,
    }


def _server(server: ZooKeeperServer) -> dict[str, Any]:
    return {
        "id": server.server_id,
        "port": server.port,
        "pid": server.pid,
        "log_dirs": [str(server.data_dir)],
        "mode": server.mode,
    }


def _table(found: dict[str, Any]) -> str:
    lines = [_server_line(server) for server in found["zookeepers"]]
    lines += [_broker_line(broker, found["controller"]) for broker in found["brokers"]]
    if found["partitions"] is None:
        lines.append("no broker answers")
    else:
        lines.append(
            f"{found['partitions']} partitions, {len(found['under_replicated'])} of them not fully"
            " in sync"
        )
    lines.append(f"bootstrap.servers={found['bootstrap_servers']}")
    lines.append(f"zookeeper.connect={found['zookeeper_connect']}")
    return "\n".join(lines)


def _server_line(server: dict[str, Any]) -> str:
    state = "stopped" if server["pid"] is None else server["mode"] or "not serving"
    return f"zookeeper {server['id']:<4} {HOST}:{server['port']:<6} {state:<12}{_pid(server)}"


def _broker_line(broker: dict[str, Any], controller: int | None) -> str:
    state = "stopped" if broker["pid"] is None else "away"
    if broker["is_registered"]:
        state = "controller" if broker["id"] == controller else "up"
    load = ""
    if broker["leaders"] is not None:
        load = f"leads {broker['leaders']:<5} holds {broker['replicas']}"
    line = f"broker    {broker['id']:<4} {HOST}:{broker['port']:<6} {state:<12}{_pid(broker)}{load}"
    return line.rstrip()


def _pid(member: dict[str, Any]) -> str:
    return f"{'' if member['pid'] is None else 'pid ' + str(member['pid']):<14}"
