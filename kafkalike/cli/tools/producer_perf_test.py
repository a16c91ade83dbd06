"""`kafka-producer-perf-test`: how fast records are written (`ProducerPerformance`)."""

from argparse import Namespace
from typing import Final

from kafkalike.cli.tools.support.argument_tool import ArgumentParser, ArgumentTool
from kafkalike.cli.tools.support.errors import IllegalArgumentError, ToolFailure

_DEFAULT_TRANSACTIONAL_ID: Final = "performance-producer-default-transactional-id"


def declare(parser: ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("--topic", metavar="TOPIC", required=True, help="where to write to")
    add("--num-records", metavar="NUM-RECORDS", type=int, required=True, help="how many records")
    payload = parser.add_mutually_exclusive_group(required=True)
    payload.add_argument(
        "--record-size", metavar="RECORD-SIZE", type=int, help="their size in bytes"
    )
    payload.add_argument(
        "--payload-file", metavar="PAYLOAD-FILE", help="a file of texts to send in random order"
    )
    add(
        "--payload-delimiter",
        metavar="PAYLOAD-DELIMITER",
        default="\\n",
        help=r"what separates the texts (default: \n)",
    )
    add(
        "--throughput",
        metavar="THROUGHPUT",
        type=int,
        required=True,
        help="at most so many records a second; -1: as many as go",
    )
    add(
        "--producer-props",
        metavar="PROP-NAME=PROP-VALUE",
        nargs="+",
        help="settings of the producer: bootstrap.servers=host:port acks=all; they win over"
        " --producer.config",
    )
    add(
        "--producer.config",
        metavar="CONFIG-FILE",
        dest="producer_config",
        help="a file with settings of the producer",
    )
    add("--print-metrics", action="store_true", help="show the metrics of the producer at the end")
    add(
        "--transactional-id",
        metavar="TRANSACTIONAL-ID",
        default=_DEFAULT_TRANSACTIONAL_ID,
        help="with --transaction-duration-ms (default: %(default)s)",
    )
    add(
        "--transaction-duration-ms",
        metavar="TRANSACTION-DURATION",
        type=int,
        default=0,
        help="commit a transaction whenever it is as old; 0: no transactions",
    )
    add("--output", choices=("text", "json"), default="text", help="how to write the result")


def producer_settings(parsed: Namespace) -> dict[str, str]:
    """Return the settings of the producer."""
    from pathlib import Path

    from kafkalike.cli.tools.support.client import read_settings

    if parsed.producer_props is None and parsed.producer_config is None:
        raise ToolFailure(
            "producer-performance: error: Either --producer-props or --producer.config must be"
            " specified."
        )
    settings = read_settings(Path(parsed.producer_config)) if parsed.producer_config else {}
    for pair in parsed.producer_props or ():
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise IllegalArgumentError(f"Invalid property: {pair}")
        settings[name] = value
    if parsed.transaction_duration_ms > 0:
        settings["transactional.id"] = parsed.transactional_id
    return settings


def run(parsed: Namespace) -> int:
    """Send, and tell how fast that was."""
    settings = producer_settings(parsed)
    # Inside, because the client takes longer to load than help takes to print.
    from kafkalike.cli.tools.producer_perf_run import Run

    return Run(parsed, settings).run()


main: Final = ArgumentTool(
    "kafka-producer-perf-test",
    "producer-performance",
    "This tool is used to verify the producer performance.",
    declare,
    run,
)
