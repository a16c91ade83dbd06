"""`kafka-console-consumer`: records to standard output (Kafka's `ConsoleConsumer`)."""

import random
from dataclasses import dataclass
from typing import Any, Final

from kafkalike.cli.tools.support.checks import check_required, count, key_values
from kafkalike.cli.tools.support.client import read_settings_option
from kafkalike.cli.tools.support.errors import ToolFailure, UsageError
from kafkalike.cli.tools.support.options import Option, Parsed, integer, switch
from kafkalike.cli.tools.support.tool import Tool

EARLIEST: Final = -2
LATEST: Final = -1

OPTIONS: Final = (
    Option("bootstrap-server", "REQUIRED: host:port,host:port.", "server to connect to"),
    Option("topic", "The topic to read.", "topic"),
    Option("whitelist", "Read all topics that match this regular expression.", "whitelist"),
    Option(
        "partition",
        "Read this partition only, from its end unless --offset says otherwise.",
        "partition",
        kind=integer,
        kind_name="Integer",
    ),
    Option(
        "offset",
        "Where to begin in the partition: a number, earliest or latest.",
        "consume offset",
        default="latest",
    ),
    Option("consumer-property", "A setting of the consumer, key=value.", "consumer_prop"),
    Option("consumer.config", "A file with settings of the consumer.", "config file"),
    Option(
        "formatter",
        "What shows the records: a formatter class of Kafka, json, or module:function.",
        "class",
        default="kafka.tools.DefaultMessageFormatter",
    ),
    Option(
        "property",
        "What is shown: print.timestamp, print.key, print.offset, print.partition, print.headers,"
        " print.value; key.separator, line.separator, headers.separator, null.literal;"
        " key.deserializer, value.deserializer, headers.deserializer.",
        "prop",
    ),
    switch("from-beginning", "Begin with the earliest record if the group has no offset."),
    Option(
        "max-messages",
        "End after so many records.",
        "num_messages",
        kind=integer,
        kind_name="Integer",
    ),
    Option(
        "timeout-ms",
        "End if there is no record for so long.",
        "timeout_ms",
        kind=integer,
        kind_name="Integer",
    ),
    switch("skip-message-on-error", "Go on if a record cannot be shown."),
    Option("key-deserializer", "What makes text of keys.", "deserializer for key"),
    Option("value-deserializer", "What makes text of values.", "deserializer for values"),
    switch("enable-systest-events", "Say shutdown_complete at the end."),
    Option(
        "isolation-level",
        "read_committed leaves out what is not committed.",
        "",
        default="read_uncommitted",
    ),
    Option("group", "The group to join.", "consumer group id"),
    Option("output", "text (as Kafka) or json, a line of JSON for each record.", "text|json"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is to be read: a partition from an offset on, a topic, or all that match a pattern."""

    topic: str | None
    pattern: str | None
    partition: int | None
    offset: int
    max_messages: int | None
    timeout_ms: int | None
    skips_errors: bool


def reading(parsed: Parsed) -> Reading:
    """Read what the options say; those that do not fit together are refused."""
    if count(parsed, ("topic", "whitelist")) != 1:
        raise UsageError("Exactly one of whitelist/topic is required.")
    if parsed.has("partition"):
        if not parsed.has("topic"):
            raise UsageError("The topic is required when partition is specified.")
        if parsed.has("from-beginning") and parsed.has("offset"):
            raise UsageError("Options from-beginning and offset cannot be specified together.")
    elif parsed.has("offset"):
        raise UsageError("The partition is required when offset is specified.")
    offset = _offset(parsed)
    check_required(parsed, "bootstrap-server")
    limit, timeout_ms = parsed.value("max-messages"), parsed.value("timeout-ms")
    return Reading(
        topic=parsed.value("topic"),
        pattern=parsed.value("whitelist"),
        partition=parsed.value("partition"),
        offset=offset,
        max_messages=None if limit is None or limit == -1 else max(limit, 0),
        timeout_ms=timeout_ms if timeout_ms is not None and timeout_ms >= 0 else None,
        skips_errors=parsed.has("skip-message-on-error"),
    )


def _offset(parsed: Parsed) -> int:
    if not parsed.has("offset"):
        return EARLIEST if parsed.has("from-beginning") else LATEST
    text = parsed.value("offset").lower()
    if text in ("earliest", "latest"):
        return EARLIEST if text == "earliest" else LATEST
    if not text.isdigit():
        raise UsageError(
            f"The provided offset value '{text}' is incorrect. Valid values are 'earliest', "
            "'latest', or a non-negative long."
        )
    return int(text)


def consumer_settings(parsed: Parsed, chance: random.Random) -> dict[str, Any]:
    """Return the settings of the consumer; without a group it joins one of its own."""
    from_file = read_settings_option(parsed, "consumer.config")
    given = key_values(parsed.values("consumer-property"))
    settings = from_file | given
    groups = {
        group
        for group in (parsed.value("group"), from_file.get("group.id"), given.get("group.id"))
        if group is not None
    }
    if len(groups) > 1:
        raise UsageError(
            "The group ids provided in different places (directly using '--group', via "
            "'--consumer-property', or via '--consumer.config') do not match. Detected group ids: "
            + ", ".join(f"'{group}'" for group in sorted(groups))
        )
    if groups and parsed.has("partition"):
        raise UsageError("Options group and partition cannot be specified together.")
    if groups:
        settings["group.id"] = groups.pop()
    else:
        settings["group.id"] = f"console-consumer-{chance.randrange(100_000)}"
        settings.setdefault("enable.auto.commit", "false")
    settings["bootstrap.servers"] = parsed.value("bootstrap-server")
    if parsed.has("isolation-level") or "isolation.level" not in settings:
        settings["isolation.level"] = parsed.value("isolation-level")
    _set_reset(parsed, settings)
    return settings


def _set_reset(parsed: Parsed, settings: dict[str, Any]) -> None:
    given = settings.get("auto.offset.reset")
    if given is not None and parsed.has("from-beginning") and given != "earliest":
        raise ToolFailure(
            f"Can't simultaneously specify --from-beginning and 'auto.offset.reset={given}', "
            "please remove one option"
        )
    is_earliest = parsed.has("from-beginning")
    settings.setdefault("auto.offset.reset", "earliest" if is_earliest else "latest")


def run(parsed: Parsed) -> int:
    """Read and print until the end that the options set, or Ctrl-C."""
    # Inside, because the client takes longer to load than help takes to print.
    from kafkalike.cli.tools.message_formatters import formatter

    properties = key_values(parsed.values("property"))
    for option in ("key-deserializer", "value-deserializer"):
        if parsed.value(option):
            properties[option.replace("-", ".")] = parsed.value(option)
    name = "json" if parsed.value("output") == "json" else parsed.value("formatter")
    show = formatter(name, properties)
    wanted = reading(parsed)
    settings = consumer_settings(parsed, random.Random())

    from kafkalike.cli.tools.console_reader import read_records

    return read_records(wanted, settings, show, parsed.has("enable-systest-events"))


main: Final = Tool(
    "kafka-console-consumer",
    "This tool helps to read data from Kafka topics and outputs it to standard output.",
    OPTIONS,
    run,
    helps_with_options=True,
)
