"""`kafka-verifiable-producer`: numbers to a topic, and JSON about each (`VerifiableProducer`)."""

from argparse import Namespace
from typing import Final

from kafkalike.cli.tools.support.argument_tool import (
    ArgumentParser,
    ArgumentTool,
    add_connection,
    add_limit,
)


def declare(parser: ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("--topic", metavar="TOPIC", required=True, help="where to write to")
    add_connection(parser)
    add_limit(parser)
    add(
        "--throughput",
        metavar="THROUGHPUT",
        type=int,
        default=-1,
        help="at most so many a second (default: %(default)s)",
    )
    add(
        "--acks",
        metavar="ACKS",
        type=int,
        choices=(0, 1, -1),
        default=-1,
        help="0, 1 or -1 for all (default: %(default)s)",
    )
    add(
        "--producer.config",
        metavar="CONFIG_FILE",
        dest="producer_config",
        help="a file with settings of the producer",
    )
    add(
        "--message-create-time",
        metavar="CREATETIME",
        dest="create_time",
        type=int,
        default=-1,
        help="the timestamp of the first record, in ms",
    )
    add("--value-prefix", metavar="VALUE-PREFIX", type=int, help="values are PREFIX.0, PREFIX.1")
    add(
        "--repeating-keys",
        metavar="REPEATING-KEYS",
        type=int,
        help="keys count up to this number and begin anew",
    )


def run(parsed: Namespace) -> int:
    """Send, and tell of each record."""
    # Inside, because the client takes longer to load than help takes to print.
    from kafkalike.cli.tools.verifiable_producer_run import Run

    return Run(parsed).run()


main: Final = ArgumentTool(
    "kafka-verifiable-producer",
    "verifiable-producer",
    "This tool produces increasing integers to the specified topic and prints JSON metadata to"
    ' stdout on each "send" request, making externally visible which messages have been acked and'
    " which have not.",
    declare,
    run,
)
