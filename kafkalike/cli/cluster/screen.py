"""What the commands of a cluster share: --dir, errors as sentences, progress on screen."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from kafkalike.config.errors import ConfigError
from kafkalike.launcher.errors import ClusterError
from kafkalike.protocol.errors import KafkaError, ProtocolError
from kafkalike.zk.embedded.errors import EmbeddedZooKeeperError, PortInUseError

directory_option = click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("kafkalike-cluster"),
    show_default=True,
    help="The folder of the cluster: data, logs, cluster.json.",
)


@contextlib.contextmanager
def errors_as_sentences() -> Iterator[None]:
    """Turn what the user can mend into one line and exit code 1."""
    try:
        yield
    except PortInUseError as error:
        raise click.ClickException(f"{error} with --zk-port") from error
    except (ClusterError, EmbeddedZooKeeperError, ConfigError, KafkaError) as error:
        raise click.ClickException(str(error)) from error
    except (OSError, EOFError, ProtocolError) as error:
        raise click.ClickException(f"{type(error).__name__}: {error}") from error


@contextlib.contextmanager
def step(what: str) -> Iterator[list[str]]:
    """Show what is being done and, after it, how it went and how long it took."""
    click.echo(f"{what} ... ", nl=False)
    started = time.perf_counter()
    result: list[str] = []
    try:
        yield result
    except BaseException:
        click.echo("failed")
        raise
    click.echo(f"{' '.join(result) or 'done'} ({time.perf_counter() - started:.1f} s)")


@contextlib.contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar while something is done (a line if this is no terminal); yields what moves it."""
    started = time.perf_counter()
    with click.progressbar(length=total, label=what, show_pos=True, show_eta=False) as bar:
        yield bar.update
    click.echo(f"{what}: {total} done ({time.perf_counter() - started:.1f} s)")


def count(number: int, what: str) -> str:
    """Say how many: "1 broker", "3 brokers"."""
    return f"{number} {what}{'' if number == 1 else 's'}"
