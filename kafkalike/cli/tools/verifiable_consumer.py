"""`kafka-verifiable-consumer`: reads in a group and writes JSON about it (`VerifiableConsumer`)."""

from argparse import Namespace
from typing import Final

from kafkalike.cli.tools.support.argument_tool import (
    ArgumentParser,
    ArgumentTool,
    add_connection,
    add_limit,
)

_RANGE: Final = "org.apache.kafka.clients.consumer.RangeAssignor"


def declare(parser: ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add_connection(parser)
    add("--topic", metavar="TOPIC", required=True, help="the topic to read")
    add("--group-id", metavar="GROUP_ID", required=True, help="the group to join")
    add("--group-instance-id", metavar="GROUP_INSTANCE_ID", help="a static member of this name")
    add_limit(parser)
    add(
        "--session-timeout",
        metavar="TIMEOUT_MS",
        type=int,
        default=30_000,
        help="session.timeout.ms (default: %(default)s)",
    )
    add("--verbose", action="store_true", help="tell of each record")
    add("--enable-autocommit", action="store_true", help="commit every now and then")
    add(
        "--reset-policy",
        default="earliest",
        help="earliest, latest or none (default: %(default)s)",
    )
    add("--assignment-strategy", default=_RANGE, help="an assignor (default: %(default)s)")
    add(
        "--consumer.config",
        metavar="CONFIG_FILE",
        dest="consumer_config",
        help="a file with settings of the consumer; options win over it",
    )


def run(parsed: Namespace) -> int:
    """Read, and tell of everything."""
    # Inside, because the client takes longer to load than help takes to print.
    from kafkalike.cli.tools.verifiable_consumer_run import Run

    return Run(parsed).run()


main: Final = ArgumentTool(
    "kafka-verifiable-consumer",
    "verifiable-consumer",
    "This tool consumes messages from a specific topic and emits consumer events (e.g. group"
    " rebalances, received messages, and offsets committed) as JSON objects to STDOUT.",
    declare,
    run,
)
