"""`kafka-replica-verification`: do all replicas hold the same (Kafka's `ReplicaVerificationTool`).

Runs until somebody ends it, as Kafka's; `--once` ends it when all that was there at the start is
compared, with exit code 1 if something differs.
"""

from typing import Final

from kafkalike.cli.tools.console_producer import check_addresses
from kafkalike.cli.tools.support.checks import check_required
from kafkalike.cli.tools.support.client import COMMAND_CONFIG
from kafkalike.cli.tools.support.options import Option, Parsed, integer, long, switch
from kafkalike.cli.tools.support.tool import Tool

OPTIONS: Final = (
    Option(
        "broker-list",
        "REQUIRED: The brokers to begin with.",
        "hostname:port,...,hostname:port",
        aliases=("bootstrap-server",),
    ),
    COMMAND_CONFIG,
    Option(
        "fetch-size",
        "How much to fetch of a partition at once.",
        "bytes",
        kind=integer,
        kind_name="Integer",
        default=1024 * 1024,
    ),
    Option(
        "max-wait-ms",
        "How long a broker may wait for new records.",
        "ms",
        kind=integer,
        kind_name="Integer",
        default=1000,
    ),
    Option(
        "topic-white-list",
        "Only topics that match this.",
        "Java regex (String)",
        default=".*",
    ),
    Option(
        "time",
        "Where to begin: a time in ms, -1 for the end, -2 for the beginning.",
        "timestamp/-1(latest)/-2(earliest)",
        kind=long,
        kind_name="Long",
        default=-1,
    ),
    Option(
        "report-interval-ms",
        "How often to tell the largest lag.",
        "ms",
        kind=long,
        kind_name="Long",
        default=30_000,
    ),
    switch("once", "End when all that was there at the start is compared; 1 if something differs."),
)


def run(parsed: Parsed) -> int:
    """Compare the replicas of all partitions, over and over."""
    check_required(parsed, "broker-list")
    check_addresses(parsed.value("broker-list"))
    # Inside, because the client takes longer to load than help takes to print.
    from kafkalike.cli.tools.replica_verification_run import verify

    return verify(parsed)


main: Final = Tool(
    "kafka-replica-verification",
    "Validate that all replicas for a set of topics have the same data.",
    OPTIONS,
    run,
)
