"""`kafka-topics`: create, alter, list, describe and delete topics (Kafka's `TopicCommand`)."""

from typing import Final

from kafkalike.cli.tools.support.checks import check_excluded, check_required, count
from kafkalike.cli.tools.support.client import BOOTSTRAP_SERVER, COMMAND_CONFIG
from kafkalike.cli.tools.support.errors import IllegalArgumentError, UsageError
from kafkalike.cli.tools.support.listing import OUTPUT
from kafkalike.cli.tools.support.options import Option, Parsed, integer, switch
from kafkalike.cli.tools.support.tool import Tool

_ACTIONS: Final = ("create", "list", "alter", "describe", "delete")
_REPORTS: Final = (
    "under-replicated-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
    "unavailable-partitions",
)
_CONFIGS_TOOL: Final = (
    " (the kafka-configs CLI supports altering topic configs with a --bootstrap-server option)"
)

OPTIONS: Final = (
    BOOTSTRAP_SERVER,
    COMMAND_CONFIG,
    Option("zookeeper", "DEPRECATED: The ZooKeeper servers, instead of brokers.", "hosts"),
    switch("list", "List the topics."),
    switch("create", "Create a topic."),
    switch("delete", "Delete topics."),
    switch("alter", "Give topics more partitions; through ZooKeeper also other configs."),
    switch("describe", "Show topics in detail."),
    Option(
        "topic",
        "The topic. Unless it is to be created, a regular expression: protect the dots of its name"
        r" with a backslash, as in test\.topic.",
        "topic",
    ),
    Option(
        "config",
        "A config of the topic to create (kafka-configs changes that of existing ones).",
        "name=value",
    ),
    Option("delete-config", "A config to remove; only through ZooKeeper.", "name"),
    Option(
        "partitions",
        "How many partitions a topic is to have. More of them later move keys to others.",
        "# of partitions",
        kind=integer,
        kind_name="Integer",
    ),
    Option(
        "replication-factor",
        "How many replicas each partition is to have.",
        "replication factor",
        kind=integer,
        kind_name="Integer",
    ),
    Option(
        "replica-assignment",
        "Which brokers have the replicas of each partition, the preferred leader first.",
        "broker_id_for_part1_replica1 : broker_id_for_part1_replica2 , "
        "broker_id_for_part2_replica1 : broker_id_for_part2_replica2 , ...",
    ),
    switch("under-replicated-partitions", "Describe only partitions with replicas out of sync."),
    switch("unavailable-partitions", "Describe only partitions whose leader is not there."),
    switch("under-min-isr-partitions", "Describe only partitions with too few in-sync replicas."),
    switch("at-min-isr-partitions", "Describe only partitions that may lose no further replica."),
    switch("topics-with-overrides", "Describe only topics that have configs of their own."),
    switch("if-exists", "Do nothing, and do not complain, if there is no such topic."),
    switch("if-not-exists", "Do nothing, and do not complain, if the topic is there already."),
    switch("disable-rack-aware", "Place replicas without a look at racks (through ZooKeeper)."),
    switch("force", "Has no effect."),
    switch("exclude-internal", "List or describe without Kafka's own topics."),
    OUTPUT,
)


def check_arguments(parsed: Parsed) -> None:
    """Refuse options that do not fit together."""
    if count(parsed, _ACTIONS) != 1:
        raise UsageError(
            "Command must include exactly one action: "
            "--list, --describe, --create, --alter or --delete"
        )
    if parsed.has("bootstrap-server") == parsed.has("zookeeper"):
        raise IllegalArgumentError(
            "Only one of --bootstrap-server or --zookeeper must be specified"
        )
    _check_needed(parsed)
    _check_excluded(parsed)


def _check_needed(parsed: Parsed) -> None:
    needs_topic = not parsed.has("list") and not parsed.has("describe")
    if needs_topic or (parsed.has("describe") and parsed.has("if-exists")):
        check_required(parsed, "topic")
    through_zookeeper = parsed.has("zookeeper")
    if parsed.has("create") and through_zookeeper and not parsed.has("replica-assignment"):
        check_required(parsed, "partitions", "replication-factor")
    if parsed.has("alter") and not through_zookeeper:
        if parsed.has("config"):
            raise UsageError(
                'Option combination "[bootstrap-server],[config]" can\'t be used with option '
                f'"[alter]"{_CONFIGS_TOOL}'
            )
        check_required(parsed, "partitions")


def _check_excluded(parsed: Parsed) -> None:
    _only_with(parsed, "config", "alter", "create")
    _only_with(parsed, "delete-config", "alter")
    check_excluded(parsed, "delete-config", ["bootstrap-server"])
    _only_with(parsed, "partitions", "alter", "create")
    _only_with(parsed, "replication-factor", "create")
    _only_with(parsed, "replica-assignment", "create", "alter")
    if parsed.has("create"):
        check_excluded(parsed, "replica-assignment", ["partitions", "replication-factor"])
    for report in _REPORTS:
        _only_with(parsed, report, "describe")
        others = [other for other in _REPORTS if other != report]
        check_excluded(parsed, report, [*others, "topics-with-overrides"])
        if "min-isr" in report:
            check_excluded(parsed, report, ["zookeeper"])
    _only_with(parsed, "topics-with-overrides", "describe")
    _only_with(parsed, "if-exists", "alter", "delete", "describe")
    _only_with(parsed, "if-not-exists", "create")
    _only_with(parsed, "exclude-internal", "list", "describe")


def _only_with(parsed: Parsed, name: str, *actions: str) -> None:
    check_excluded(parsed, name, [action for action in _ACTIONS if action not in actions])


def run(parsed: Parsed) -> int:
    """Do what the options say."""
    check_arguments(parsed)
    # Inside, because the client takes longer to load than help takes to print.
    from kafkalike.cli.tools.topic_service import run_action

    return run_action(parsed, next(action for action in _ACTIONS if parsed.has(action)))


main: Final = Tool(
    "kafka-topics",
    "This tool helps to create, delete, describe, or change a topic.",
    OPTIONS,
    run,
)
