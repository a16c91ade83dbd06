"""`kafkalike wire messages`: what `decode` and `encode` know."""

import json

import click

from kafkalike.cli.wire.names import message_class, message_names


@click.command()
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def messages(output: str) -> None:
    """List the messages with their API key and versions."""
    known = [message_class(name) for name in message_names()]
    if output == "json":
        rows = [
            {
                "message": cls.__name__,
                "api_key": None if cls.api_key < 0 else cls.api_key,
                "versions": [cls.min_version, cls.max_version],
            }
            for cls in known
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    for cls in known:
        key = "" if cls.api_key < 0 else str(cls.api_key)
        click.echo(f"{key:>3}  {cls.__name__:<38} {cls.min_version}-{cls.max_version}")
