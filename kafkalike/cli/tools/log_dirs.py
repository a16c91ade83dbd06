"""`kafka-log-dirs`: what is in the log directories of brokers, as JSON (`LogDirsCommand`)."""

import json
from typing import TYPE_CHECKING, Any, Final

from kafkalike.cli.tools.support.checks import check_required
from kafkalike.cli.tools.support.client import client_settings, with_admin
from kafkalike.cli.tools.support.errors import JavaError
from kafkalike.cli.tools.support.listing import OUTPUT, print_lines, table
from kafkalike.cli.tools.support.options import Option, Parsed, switch
from kafkalike.cli.tools.support.tool import Tool, print_line

if TYPE_CHECKING:
    from kafkalike.client.admin.admin_client import Admin

OPTIONS: Final = (
    Option(
        "bootstrap-server",
        "REQUIRED: The brokers to begin with.",
        "The server(s) to use for bootstrapping",
    ),
    Option(
        "command-config",
        "A properties file with settings of the client.",
        "Admin client property file",
    ),
    switch("describe", "REQUIRED: Show log directories."),
    Option("topic-list", "Only these topics: topic1,topic2.", "Topic list", default=""),
    Option("broker-list", "Only these brokers: 0,1,2.", "Broker list"),
    OUTPUT,
)


def run(parsed: Parsed) -> None:
    """Ask the brokers and print what they say."""
    check_required(parsed, "bootstrap-server", "describe")
    topics = {topic for topic in (parsed.value("topic-list") or "").split(",") if topic}
    brokers = _broker_ids(parsed.value("broker-list"))
    shape = parsed.value("output")
    settings = {"client.id": "log-dirs-tool"} | client_settings(parsed)

    async def describe(admin: "Admin") -> None:
        # Without a wish for a shape it is Kafka's output: JSON, with two lines above it.
        asked = await admin.broker_ids() if brokers is None else brokers
        if shape in (None, "text"):
            print_line("Querying brokers for log directories information")
        found = await admin.describe_log_dirs(brokers=asked)
        document = as_document(found, topics)
        if shape in (None, "text"):
            print_line(
                f"Received log directory information from brokers {','.join(map(str, asked))}"
            )
        if shape == "table":
            print_lines(table(_rows(document)))
        else:
            print_line(json.dumps(document, separators=(",", ":")))

    with_admin(settings, describe)


def as_document(found: dict[int, list[dict[str, Any]]], topics: set[str]) -> dict[str, Any]:
    """Return what brokers said in the shape that Kafka's tool has."""
    return {
        "version": 1,
        "brokers": [
            {"broker": broker, "logDirs": [_directory(entry, topics) for entry in directories]}
            for broker, directories in found.items()
        ],
    }


def _directory(entry: dict[str, Any], topics: set[str]) -> dict[str, Any]:
    return {
        "logDir": entry["log_dir"],
        "error": _error(entry["error_code"]),
        "partitions": [
            {
                "partition": f"{topic['name']}-{part['partition_index']}",
                "size": part["partition_size"],
                "offsetLag": part["offset_lag"],
                "isFuture": part["is_future_key"],
            }
            for topic in entry["topics"]
            if not topics or topic["name"] in topics
            for part in topic["partitions"]
        ],
    }


def _error(code: int) -> str | None:
    from kafkalike.cli.tools.support.java_names import java_class
    from kafkalike.protocol.errors import error_for

    return java_class(error_for(code)()) if code else None


def _rows(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"broker": broker["broker"], "directory": directory["logDir"]} | partition
        for broker in document["brokers"]
        for directory in broker["logDirs"]
        for partition in directory["partitions"]
    ]


def _broker_ids(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",") if part]
    except ValueError:
        raise JavaError("java.lang.NumberFormatException", f'For input string: "{text}"') from None


main: Final = Tool(
    "kafka-log-dirs",
    "This tool helps to query log directory usage on the specified brokers.",
    OPTIONS,
    run,
)
