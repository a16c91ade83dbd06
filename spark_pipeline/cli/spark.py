"""`kafkalike spark`: submit jobs, a Spark cluster on this machine, the stock connector."""

import contextlib
import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

JOBS: Final = {
    "archive": "topics to Parquet files",
    "clickstream": "page views to sessions, clicks to their impressions",
    "lag-report": "throughput and consumer lag as a page",
    "metrics": "log lines per minute into SQLite",
    "quality": "orders that can be used, and the others with the reason",
    "trucks": "GPS positions to speed and distance per window",
}
_directory = click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("spark-cluster"),
    show_default=True,
    help="The folder of the cluster: logs, files of the workers, spark-cluster.json.",
)


@click.group()
def spark() -> None:
    """Submit PySpark jobs, and run a standalone Spark cluster on this machine."""


@spark.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    options_metavar="",
)
@click.argument("job", metavar="JOB")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF THE JOB]...")
def submit(job: str, arguments: tuple[str, ...]) -> None:
    """Run a job until it ends or is stopped: submit trucks --master local[2] --checkpoint ….

    `submit --help` lists the jobs, `submit trucks --help` the options of one. A --master other than
    local gets these packages sent along.
    """
    if job in ("-h", "--help"):
        width = max(map(len, JOBS))
        listed = "\n".join(f"  {name:{width}}  {what}" for name, what in JOBS.items())
        click.echo(f"Usage: kafkalike spark submit JOB [OPTIONS OF THE JOB]\n\nJobs:\n{listed}")
        click.echo("\n`kafkalike spark submit JOB --help` shows the options of a job.")
        return
    if job not in JOBS:
        raise click.UsageError(f"there is no job {job}: it is one of {', '.join(JOBS)}")
    _require_spark()
    given = list(arguments)
    if _value_of(given, "--connector") == "stock":
        raise SystemExit(_submit_stock(job, given))
    master = _value_of(given, "--master")
    with contextlib.ExitStack() as stack:
        if master and not master.startswith("local") and _value_of(given, "--py-files") is None:
            given += ["--py-files", str(stack.enter_context(_shipped()))]
        sys.argv[0] = f"kafkalike spark submit {job}"
        code: int = importlib.import_module(_module(job)).main(given)
    raise SystemExit(code)


def _module(job: str) -> str:
    return f"spark_pipeline.jobs.{job.replace('-', '_')}"


def _value_of(arguments: list[str], name: str) -> str | None:
    for number, text in enumerate(arguments):
        if text == name and number + 1 < len(arguments):
            return arguments[number + 1]
        if text.startswith(f"{name}="):
            return text.partition("=")[2]
    return None


@contextlib.contextmanager
def _shipped() -> Iterator[Path]:
    from spark_pipeline.shipping import write_package

    with tempfile.TemporaryDirectory(prefix="kafkalike-spark-") as folder:
        yield write_package(Path(folder) / "kafkalike.zip")


def _submit_stock(job: str, arguments: list[str]) -> int:
    """Run a job in the environment that matches the stock connector."""
    from spark_pipeline import stock_connector

    home = stock_connector.cache_directory(os.environ)
    if not stock_connector.is_ready(home):
        raise click.ClickException(
            f"the stock connector is not in {home}: fetch it with `kafkalike spark connector fetch`"
        )
    jars = ",".join(map(str, stock_connector.jars(home)))
    program = str(stock_connector.python(home))
    command = [program, "-m", _module(job), *arguments, "--jars", jars]
    # Not a child: signals go to the job itself.
    os.execve(program, command, stock_connector.environment(os.environ))


def _require_spark() -> None:
    try:
        import pyarrow  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError as error:
        raise click.ClickException(
            f"{error.name} is not installed: pip install 'kafkalike[spark]'"
        ) from None


@spark.group()
def connector() -> None:
    """Spark's own Kafka connector, in an environment of its own."""


@connector.command()
def fetch() -> None:
    """Get its jars through Maven and a matching pyspark through pip, for `--connector stock`."""
    from spark_pipeline import stock_connector

    home = stock_connector.cache_directory(os.environ)
    click.echo(
        f"connector {stock_connector.VERSION} for pyspark {stock_connector.VERSION} in {home}"
    )
    try:
        stock_connector.fetch(home)
    except (stock_connector.ConnectorError, OSError, subprocess.SubprocessError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"ready: {len(stock_connector.jars(home))} jars")


@spark.group()
def cluster() -> None:
    """A standalone Spark cluster on this machine: one master, some workers."""


@cluster.command()
@click.option("--workers", default=2, show_default=True, help="How many.")
@click.option("--cores", default=1, show_default=True, help="Cores that each worker offers.")
@click.option("--memory", default="1g", show_default=True, help="Memory that each worker offers.")
@click.option("--port", default=0, help="Port of the master; without it any that is free.")
@_directory
def up(workers: int, cores: int, memory: str, port: int, directory: Path) -> None:
    """Start it; it runs until `down`."""
    _require_spark()
    from spark_pipeline.standalone import StandaloneCluster, StandaloneError, free_ports

    with contextlib.suppress(StandaloneError):
        running = StandaloneCluster.open(directory)
        if any(running.is_running(name) for name in running.pids):
            raise click.ClickException(f"a Spark cluster runs in {directory}: {running.url}")
    any_port, ui_port = free_ports(2)
    started = StandaloneCluster(directory.resolve(), port or any_port, ui_port)
    try:
        started.up(workers, cores, memory)
    except StandaloneError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{workers} workers at {started.url}, shown on http://127.0.0.1:{ui_port}")
    click.echo(f"submit with --master {started.url}; stop with: "
               f"kafkalike spark cluster down --dir {directory}")  # fmt: skip


@cluster.command()
@_directory
def status(directory: Path) -> None:
    """Show what runs."""
    _require_spark()
    from spark_pipeline.standalone import StandaloneCluster, StandaloneError

    try:
        found = StandaloneCluster.open(directory)
    except StandaloneError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{found.url}: {found.alive_workers()} workers alive")
    for name, pid in found.pids.items():
        click.echo(f"  {name}: pid {pid}, {'running' if found.is_running(name) else 'ended'}")


@cluster.command()
@_directory
def down(directory: Path) -> None:
    """Stop all of it."""
    _require_spark()
    from spark_pipeline.standalone import StandaloneCluster, StandaloneError

    try:
        stopped = StandaloneCluster.open(directory).down()
    except StandaloneError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"stopped: {', '.join(stopped) or 'nothing was running'}")
