"""`kafkalike wire tap`: live traffic between clients and brokers, a line for each frame."""

import json
import shutil
import sys
from collections.abc import Callable
from typing import Any

import click

from kafkalike.cli.wire.conversation import Said
from kafkalike.cli.wire.names import api_key
from kafkalike.cli.wire.records_json import records_to_json
from kafkalike.cli.wire.shown import hide_secrets, json_row, line, size_only
from kafkalike.protocol.errors import ProtocolError


@click.command()
@click.argument("listen", metavar="LISTEN")
@click.argument("target", metavar="TARGET")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per frame.")
@click.option("--hex", "with_hex", is_flag=True, help="With --json: the bytes too.")
@click.option("--records", is_flag=True, help="Open the record batches.")
@click.option("--only", multiple=True, metavar="API", help="Show these APIs only (name or number).")
@click.option("--full", is_flag=True, help="Do not cut lines at the width of the terminal.")
@click.option(
    "--follow/--no-follow",
    default=True,
    show_default=True,
    help=("Lead clients through the tap to all brokers, with a port for each."),
)
@click.option("--secrets", is_flag=True, help="Show passwords, salts and token keys as well.")
def tap(
    listen: str,
    target: str,
    as_json: bool,
    with_hex: bool,
    records: bool,
    only: tuple[str, ...],
    full: bool,
    follow: bool,
    secrets: bool,
) -> None:
    """Listen on LISTEN ([host:]port), pass all on to the broker TARGET ([host:]port), and show it.

    Clients use LISTEN as their bootstrap server. > is a request, < its answer.
    """
    from twisted.internet import reactor  # noqa: TID251 (imported, it is installed: only here)
    from twisted.internet.error import CannotListenError

    from kafkalike.cli.wire.tap_proxy import Tap

    host, port = _address(listen, "127.0.0.1")
    broker = _address(target, "localhost")
    try:
        wanted = frozenset(api_key(name) for name in only)
    except ProtocolError as error:
        raise click.ClickException(str(error)) from error
    width = None if full else shutil.get_terminal_size((160, 0)).columns
    show = _shower(as_json, with_hex, records, secrets, width)

    def on_frame(number: int, said: Said, target: tuple[str, int], frame: bytes) -> None:
        if not wanted or said.api_key in wanted:
            show(number, said, target, frame)

    running = Tap(reactor, on_frame, lambda text: click.echo(text, err=True), follow=follow)
    try:
        opened = running.listen(host, port, broker)
    except CannotListenError as error:
        raise click.ClickException(f"{error}; take another port for LISTEN") from error
    click.echo(f"{host}:{opened} leads to {broker[0]}:{broker[1]}; stop with Ctrl-C", err=True)
    cast_reactor: Any = reactor  # Any: Twisted's module stands for the installed reactor
    cast_reactor.run()
    running.close()


def _shower(
    as_json: bool, with_hex: bool, records: bool, secrets: bool, width: int | None
) -> Callable[[int, Said, tuple[str, int], bytes], None]:
    show_records = records_to_json if records else None if as_json else size_only

    def show(number: int, said: Said, target: tuple[str, int], frame: bytes) -> None:
        fields = said.fields(show_records)
        shown = fields if secrets else hide_secrets(fields)
        if as_json:
            # The bytes have the secrets too; so has what could not be read, perhaps.
            is_open = secrets or (shown == fields and said.message is not None)
            row = json_row(
                number,
                said,
                shown,
                f"{target[0]}:{target[1]}",
                frame if with_hex and is_open else None,
            )
            text = json.dumps(row, ensure_ascii=False)
        else:
            text = line(number, said, shown, width)
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    return show


def _address(text: str, default_host: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65_535:
        raise click.UsageError(f"{text!r} is not [host:]port")
    return host.strip("[]") or default_host, int(port)
