"""`kafka-transactions`: transactional ids, their transactions, and the producers of partitions.

The tool came with Kafka 3.0 (KIP-664) and APIs that 2.8 lacks: what those would say of
transactional ids is read from `__transaction_state` instead, and DescribeProducers is there.
"""

from typing import Final

from kafkalike.cli.tools.support.checks import check_required
from kafkalike.cli.tools.support.client import BOOTSTRAP_SERVER, COMMAND_CONFIG
from kafkalike.cli.tools.support.errors import UsageError
from kafkalike.cli.tools.support.listing import OUTPUT
from kafkalike.cli.tools.support.options import Option, Parsed, integer
from kafkalike.cli.tools.support.tool import Tool

COMMANDS: Final = ("list", "describe", "describe-producers")

OPTIONS: Final = (
    BOOTSTRAP_SERVER,
    COMMAND_CONFIG,
    Option("transactional-id", "With describe: the transactional id.", "id"),
    Option("topic", "With describe-producers: the topic.", "topic"),
    Option(
        "partition",
        "With describe-producers: the partition.",
        "partition",
        kind=integer,
        kind_name="Integer",
    ),
    Option(
        "broker-id",
        "With describe-producers: the replica to ask, instead of the leader.",
        "broker id",
        kind=integer,
        kind_name="Integer",
    ),
    OUTPUT,
)


def run(parsed: Parsed) -> None:
    """Run one of the commands."""
    if len(parsed.rest) != 1 or parsed.rest[0] not in COMMANDS:
        raise UsageError(f"Command must be one of: {', '.join(COMMANDS)}")
    check_required(parsed, "bootstrap-server")
    if parsed.rest[0] == "describe":
        check_required(parsed, "transactional-id")
    if parsed.rest[0] == "describe-producers":
        check_required(parsed, "topic", "partition")
    # Inside, because the client takes longer to load than help takes to print.
    from kafkalike.cli.tools.transaction_service import run_command

    run_command(parsed, parsed.rest[0])


main: Final = Tool(
    "kafka-transactions",
    "This tool is used to analyze the transactional state of producers in the cluster.",
    OPTIONS,
    run,
)
