"""`kafka-broker-api-versions`: which versions of each API brokers and this client have."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kafkalike.cli.tools.support.checks import check_required
from kafkalike.cli.tools.support.client import client_settings, with_admin
from kafkalike.cli.tools.support.listing import OUTPUT, output_format, print_json
from kafkalike.cli.tools.support.options import Option, Parsed
from kafkalike.cli.tools.support.tool import Tool, print_line

if TYPE_CHECKING:
    from kafkalike.client.admin.admin_client import Admin

OPTIONS: Final = (
    Option(
        "command-config",
        "A properties file with settings of the client.",
        "command config property file",
    ),
    Option(
        "bootstrap-server",
        "REQUIRED: The brokers to begin with.",
        "server(s) to use for bootstrapping",
    ),
    OUTPUT,
)

Ranges = Mapping[int, tuple[int, int]]
"""Lowest and highest version by API key."""


def run(parsed: Parsed) -> None:
    """Ask every broker."""
    check_required(parsed, "bootstrap-server")
    found = with_admin(client_settings(parsed), _ask_all)
    if output_format(parsed) == "json":
        print_json([_document(node, answer) for node, answer in found])
        return
    own = _own_ranges()
    for node, answer in found:
        shown = f"{node.host}:{node.port} (id: {node.id} rack: {node.rack or 'null'})"
        if isinstance(answer, str):
            print_line(f"{shown} -> ERROR: {answer}")
        else:
            print_line(f"{shown} -> {describe(answer, own)}")


async def _ask_all(admin: "Admin") -> list[tuple[Any, Ranges | str]]:
    from kafkalike.cli.tools.support.java_names import java_text
    from kafkalike.protocol.errors import KafkaError
    from kafkalike.protocol.messages.api_versions import ApiVersionsRequest

    request = ApiVersionsRequest(client_software_name="kafkalike", client_software_version="0")
    found: list[tuple[Any, Ranges | str]] = []
    for broker_id in await admin.broker_ids():
        node = admin.client.metadata.snapshot.brokers[broker_id]
        try:
            answer = await admin.ask_broker(broker_id, request)
        except KafkaError as error:
            found.append((node, java_text(error)))
        else:
            ranges = {key.api_key: (key.min_version, key.max_version) for key in answer.api_keys}
            found.append((node, ranges))
    return found


def describe(theirs: Ranges, own: Ranges) -> str:
    """Write the versions of a broker as Java's `NodeApiVersions` does."""
    names = _names()
    lines = {key: _line(key, names.get(key), theirs[key], own.get(key)) for key in theirs}
    for key in own:
        if key not in theirs:
            lines[key] = f"{names[key]}({key}): UNSUPPORTED"
    return "(\n\t" + ",\n\t".join(lines[key] for key in sorted(lines)) + "\n)"


def _line(key: int, name: str | None, their: tuple[int, int], own: tuple[int, int] | None) -> str:
    low, high = their
    shown = f"{name or 'UNKNOWN'}({key}): {low if low == high else f'{low} to {high}'}"
    if own is None:
        return shown
    if high < own[0]:
        return f"{shown} [unusable: node too old]"
    if own[1] < low:
        return f"{shown} [unusable: node too new]"
    return f"{shown} [usable: {min(high, own[1])}]"


def _document(node: Any, answer: Ranges | str) -> dict[str, Any]:
    head = {"id": node.id, "host": node.host, "port": node.port, "rack": node.rack}
    if isinstance(answer, str):
        return head | {"error": answer}
    names = _names()
    apis = [
        {"key": key, "name": names.get(key), "min_version": low, "max_version": high}
        for key, (low, high) in answer.items()
    ]
    return head | {"apis": apis}


def _names() -> dict[int, str]:
    from kafkalike.protocol.api_keys import ApiKey

    return {int(key): key.api_name for key in ApiKey}


def _own_ranges() -> Ranges:
    from kafkalike.protocol.api_keys import ApiKey

    return {int(key): (key.versions[0], key.versions[-1]) for key in ApiKey}


main: Final = Tool(
    "kafka-broker-api-versions",
    "This tool helps to retrieve broker version information.",
    OPTIONS,
    run,
)
