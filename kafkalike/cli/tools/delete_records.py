"""`kafka-delete-records`: delete the records before given offsets (`DeleteRecordsCommand`)."""

from typing import TYPE_CHECKING, Any, Final

from kafkalike.cli.tools.support.checks import check_required
from kafkalike.cli.tools.support.client import client_settings, with_admin
from kafkalike.cli.tools.support.options import Option, Parsed
from kafkalike.cli.tools.support.partition_file import (
    AdminCommandFailedError,
    AdminOperationError,
    duplicates,
    parse_json,
    partition_of,
    read_text,
)
from kafkalike.cli.tools.support.tool import Tool, print_line
from kafkalike.model.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kafkalike.client.admin.admin_client import Admin
    from kafkalike.protocol.errors import KafkaError

OPTIONS: Final = (
    Option(
        "bootstrap-server",
        "REQUIRED: The brokers to begin with.",
        "server(s) to use for bootstrapping",
    ),
    Option(
        "offset-json-file",
        "REQUIRED: The first offset to keep of each partition:"
        ' {"partitions": [{"topic": "foo", "partition": 1, "offset": 1}], "version": 1}',
        "Offset json file path",
    ),
    Option(
        "command-config",
        "A properties file with settings of the client.",
        "command config property file path",
    ),
)


def parse_offsets(text: str) -> dict[TopicPartition, int]:
    """Read the file with offsets."""
    found = parse_json(text, "The input string is not a valid JSON")
    version = found.get("version", 1) if isinstance(found, dict) else 1
    if version != 1:
        raise AdminOperationError(f"Not supported version field value {version}")
    if not isinstance(found, dict) or "partitions" not in found:
        raise AdminOperationError("Missing partitions field")
    pairs = [(partition_of(entry), int(entry["offset"])) for entry in found["partitions"]]
    twice = duplicates([tp for tp, _ in pairs])
    if twice:
        raise AdminCommandFailedError(
            f"Offset json file contains duplicate topic partitions: {twice}"
        )
    return dict(pairs)


def run(parsed: Parsed) -> None:
    """Delete, and tell the low watermark of each partition."""
    check_required(parsed, "bootstrap-server", "offset-json-file")
    offsets = parse_offsets(read_text(parsed.value("offset-json-file")))
    print_line("Executing records delete operation")
    results = with_admin(client_settings(parsed), lambda admin: delete(admin, offsets))
    print_line("Records delete operation completed:")
    for tp, outcome in results.items():
        if isinstance(outcome, int):
            print_line(f"partition: {tp}\tlow_watermark: {outcome}")
        else:
            print_line(f"partition: {tp}\terror: {_text(outcome)}")


async def delete(
    admin: "Admin", offsets: dict[TopicPartition, int]
) -> "dict[TopicPartition, int | KafkaError]":
    """Delete records; the low watermark of each partition, or its error."""
    from kafkalike.protocol.errors import KafkaError

    known = {
        TopicPartition(topic["name"], p["partition_index"])
        for topic in await admin.describe_topics({tp.topic for tp in offsets})
        for p in topic["partitions"]
    }
    results: dict[TopicPartition, int | KafkaError] = {}
    for tp, offset in offsets.items():
        if tp not in known:
            results[tp] = _unknown_partition()
            continue
        try:
            done = await admin.delete_records({tp: offset})
            results[tp] = done[tp]["low_watermark"]
        except KafkaError as error:
            results[tp] = error
    return results


def _unknown_partition() -> Any:
    from kafkalike.cli.tools.support.java_names import to_error
    from kafkalike.protocol.errors import ErrorCode

    return to_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _text(error: Any) -> str:
    from kafkalike.cli.tools.support.java_names import java_text

    return java_text(error)


main: Final = Tool(
    "kafka-delete-records",
    "This tool helps to delete records of the given partitions down to the specified offset.",
    OPTIONS,
    run,
)
