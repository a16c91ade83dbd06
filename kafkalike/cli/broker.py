"""`kafkalike broker server.properties`: one broker in the foreground (`kafka-server-start`)."""

import os
from pathlib import Path

import click


@click.command()
@click.argument("properties", type=click.Path(path_type=Path), metavar="SERVER.PROPERTIES")
@click.option("--override", multiple=True, metavar="KEY=VALUE", help="Wins over the file.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warn", "error"]),
    default="info",
    show_default=True,
)
@click.option(
    "--supervisor/--no-supervisor",
    default=True,
    show_default=True,
    help="A small parent process that reports a crash of the broker to the cluster at once.",
)
@click.option(
    "--pid-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the process id of the broker (not of its supervisor) here.",
)
@click.pass_context
def broker(
    context: click.Context,
    properties: Path,
    override: tuple[str, ...],
    log_level: str,
    supervisor: bool,
    pid_file: Path | None,
) -> None:
    """Run a broker until Ctrl-C or SIGTERM; both stop it in order, with exit code 0."""
    # Inside, because an error in the configuration must not wait for Twisted.
    from kafkalike.config.broker_config import BrokerConfig
    from kafkalike.config.errors import ConfigError
    from kafkalike.config.sources import parse_overrides, read_properties

    try:
        config = BrokerConfig.from_properties(
            read_properties(properties) | parse_overrides(override)
        )
    except ConfigError as error:
        raise click.ClickException(str(error)) from error

    from kafkalike.cli.supervised import fork_below_supervisor

    if supervisor:
        fork_below_supervisor(Path(config.log_directories[0]).absolute())
    if pid_file is not None:
        _write_pid(pid_file)

    from kafkalike.cli.broker_process import run_broker

    context.exit(run_broker(config, log_level))


def _write_pid(pid_file: Path) -> None:
    temporary = pid_file.with_name(f"{pid_file.name}.tmp")
    try:
        temporary.write_text(f"{os.getpid()}\n")
        temporary.replace(pid_file)  # never half of a number
    except OSError as error:
        raise click.ClickException(f"cannot write {pid_file}: {error.strerror}") from error
