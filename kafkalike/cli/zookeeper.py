"""`kafkalike zookeeper`: a real ensemble on this machine, from the jars that pyspark carries."""

import contextlib
import json
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from kafkalike.zk.embedded.ensemble import Ensemble
from kafkalike.zk.embedded.errors import EmbeddedZooKeeperError, PortInUseError
from kafkalike.zk.embedded.server import ZooKeeperServer
from kafkalike.zk.embedded.server_config import DEFAULT_PORT, HOST, EnsembleConfig

_WATCH_S: Final = 0.5

_directory = click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("zookeeper-data"),
    show_default=True,
    help="The folder of the ensemble: data, logs, pid files.",
)


@click.group()
def zookeeper() -> None:
    """Start, watch and stop a ZooKeeper ensemble on this machine."""


@zookeeper.command()
@click.option("--servers", default=3, show_default=True, help="How many: 1, 3, 5 or 7.")
@click.option(
    "--port",
    default=DEFAULT_PORT,
    show_default=True,
    help="Port of the first server; the next ones follow. Quorum and election: +707 and +1707.",
)
@_directory
@click.option("--detach", is_flag=True, help="Leave the servers running and return.")
@click.option(
    "--locked",
    is_flag=True,
    help="Only for those who log in (SASL), with the password in jaas.conf of the folder.",
)
def up(servers: int, port: int, directory: Path, detach: bool, locked: bool) -> None:
    """Start an ensemble; it stays up until Ctrl-C, or until `down` with --detach."""
    with _errors_as_sentences():
        config = replace(EnsembleConfig.at(port, servers), is_locked=locked)
        ensemble = Ensemble.create(directory, config)
        running = sum(server.is_running for server in ensemble.servers)
        already = f" ({running} run already)" if running else ""
        click.echo(f"starting {_count(servers)} in {ensemble.directory}{already}")
        if detach:
            _start(ensemble)
            click.echo(f"stop with: kafkalike zookeeper down --dir {directory}")
        else:
            _run_until_interrupted(ensemble)


@zookeeper.command()
@_directory
def down(directory: Path) -> None:
    """Stop the servers of an ensemble; its data stays."""
    with _errors_as_sentences():
        ensemble = Ensemble.open(directory)
        running = sum(server.is_running for server in ensemble.servers)
        ensemble.stop()
    click.echo(f"stopped {_count(running)}" if running else "no server was running")


@zookeeper.command()
@_directory
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def status(context: click.Context, directory: Path, as_json: bool) -> None:
    """Show leader and followers; exit code 0 only if the ensemble serves clients."""
    with _errors_as_sentences():
        ensemble = Ensemble.open(directory)
    found = _describe(ensemble)
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        for server in ensemble.servers:
            click.echo(_line(server))
        click.echo(f"zookeeper.connect={ensemble.connect_string}")
    if not found["is_serving"]:
        click.echo("no majority of the servers serves clients", err=True)
        context.exit(1)


def _run_until_interrupted(ensemble: Ensemble) -> None:
    # SIGTERM as Ctrl-C: both end the servers before they end this process.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _start(ensemble)
        click.echo("stop with Ctrl-C")
        _watch(ensemble)
    except KeyboardInterrupt:
        click.echo("stopping")
    finally:
        ensemble.stop()


def _start(ensemble: Ensemble) -> None:
    started = time.monotonic()
    ensemble.start()
    for server in ensemble.servers:
        click.echo(_line(server))
    click.echo(f"zookeeper.connect={ensemble.connect_string}")
    if ensemble.jaas_file is not None:
        option = f"-Djava.security.auth.login.config={ensemble.jaas_file}"
        click.echo(f"log in with: export KAFKA_OPTS={option}")
    click.echo(f"up after {time.monotonic() - started:.1f} s")


def _watch(ensemble: Ensemble) -> None:
    """Tell when servers end; return when all of them did."""
    alive = list(ensemble.servers)
    while alive:
        time.sleep(_WATCH_S)
        for server in [server for server in alive if not server.is_running]:
            alive.remove(server)
            click.echo(f"{server} ended; its log: {server.log_file}", err=True)


def _describe(ensemble: Ensemble) -> dict[str, Any]:
    servers = [
        {"id": server.server_id, "port": server.port, "pid": server.pid, "mode": server.mode}
        for server in ensemble.servers
    ]
    return {
        "directory": str(ensemble.directory),
        "connect": ensemble.connect_string,
        # A server serves only as part of a majority.
        "is_serving": any(server["mode"] is not None for server in servers),
        "servers": servers,
    }


def _line(server: ZooKeeperServer) -> str:
    pid = server.pid
    mode = "stopped" if pid is None else server.mode or "not serving"
    shown_pid = "" if pid is None else f"  pid {pid}"
    return f"  server {server.server_id}  {HOST}:{server.port}  {mode:<11}{shown_pid}".rstrip()


def _count(servers: int) -> str:
    return f"{servers} ZooKeeper server{'s' if servers != 1 else ''}"


@contextlib.contextmanager
def _errors_as_sentences() -> Iterator[None]:
    try:
        yield
    except PortInUseError as error:
        raise click.ClickException(f"{error} with --port") from error
    except EmbeddedZooKeeperError as error:
        raise click.ClickException(str(error)) from error
