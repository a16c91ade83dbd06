"""`kafka-consumer-perf-test`: how fast records come back (Kafka's `ConsumerPerformance`)."""

import random
from typing import Any, Final

from kafkalike.cli.tools.support.checks import check_required
from kafkalike.cli.tools.support.client import read_settings_option
from kafkalike.cli.tools.support.errors import IllegalArgumentError, OptionError
from kafkalike.cli.tools.support.options import Option, Parsed, integer, long, switch
from kafkalike.cli.tools.support.tool import Tool, print_line

_FORMATS: Final = {"text": "text", "json": "json"}


def _number(name: str, help: str, value: str, default: int | None, kind: Any = integer) -> Option:
    kind_name = "Long" if kind is long else "Integer"
    return Option(name, help, value, kind=kind, kind_name=kind_name, default=default)


OPTIONS: Final = (
    Option(
        "bootstrap-server",
        "REQUIRED unless --broker-list (deprecated) is given: host:port,host:port.",
        "server to connect to",
    ),
    Option("broker-list", "DEPRECATED, use --bootstrap-server.", "broker-list"),
    Option("topic", "REQUIRED: The topic to read.", "topic"),
    _number("messages", "REQUIRED: How many records to read.", "count", None, long),
    Option("group", "The group to join; by default one of its own.", "gid"),
    _number("fetch-size", "How much to fetch of a partition at once.", "size", 1024 * 1024),
    switch("from-latest", "Begin with what is new if the group has no offset."),
    _number("socket-buffer-size", "Accepted and without effect.", "size", 2 * 1024 * 1024),
    _number("threads", "DEPRECATED AND IGNORED.", "count", 10),
    _number("num-fetch-threads", "DEPRECATED AND IGNORED.", "count", 1),
    Option("consumer.config", "A file with settings of the consumer.", "config file"),
    switch("print-metrics", "Show the metrics of the consumer at the end."),
    switch("show-detailed-stats", "Report for each interval instead of the whole."),
    _number("reporting-interval", "How often, in ms.", "interval_ms", 5000),
    _number("timeout", "End if there is no record for so many ms.", "milliseconds", 10_000, long),
    Option(
        "date-format",
        "How to write times, as Java's SimpleDateFormat has it.",
        "date format",
        default="yyyy-MM-dd HH:mm:ss:SSS",
    ),
    switch("hide-header", "Do not name the columns."),
    Option(
        "output",
        "text (as Kafka) or json.",
        "text|json",
        kind=_FORMATS.__getitem__,
        default="text",
    ),
)


def consumer_settings(parsed: Parsed, chance: random.Random) -> dict[str, Any]:
    """Return the settings of the consumer."""
    given = "bootstrap-server" if parsed.has("bootstrap-server") else "broker-list"
    own_group = f"perf-consumer-{chance.randrange(100_000)}"
    return read_settings_option(parsed, "consumer.config") | {
        "bootstrap.servers": parsed.value(given),
        "group.id": parsed.value("group") or own_group,
        "max.partition.fetch.bytes": str(parsed.value("fetch-size")),
        "auto.offset.reset": "latest" if parsed.has("from-latest") else "earliest",
        "check.crcs": "false",
    }


def run(parsed: Parsed) -> int:
    """Read, and tell how fast that was."""
    if not parsed.has("bootstrap-server") and not parsed.has("broker-list"):
        raise OptionError(
            "MissingRequiredOptionsException", "Missing required option(s) [bootstrap-server]"
        )
    if parsed.has("threads") or parsed.has("num-fetch-threads"):
        print_line(
            "WARNING: option [threads] and [num-fetch-threads] have been deprecated and will be "
            "ignored by the test"
        )
    check_required(parsed, "topic", "messages")
    if parsed.value("reporting-interval") <= 0:
        raise IllegalArgumentError("Reporting interval must be greater than 0.")
    settings = consumer_settings(parsed, random.Random())
    # Inside, because the client takes longer to load than help takes to print.
    from kafkalike.cli.tools.consumer_perf_run import Run

    return Run(parsed, settings).run()


main: Final = Tool(
    "kafka-consumer-perf-test",
    "This tool helps in performance test for the full zookeeper consumer",
    OPTIONS,
    run,
    helps_with_options=True,
)
