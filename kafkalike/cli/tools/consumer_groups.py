"""`kafka-consumer-groups`: groups and their offsets (Kafka's `ConsumerGroupCommand`)."""

from typing import Final

from kafkalike.cli.tools.support.checks import check_excluded, check_required, count
from kafkalike.cli.tools.support.client import BOOTSTRAP_SERVER, COMMAND_CONFIG
from kafkalike.cli.tools.support.errors import OptionError, UsageError
from kafkalike.cli.tools.support.listing import OUTPUT
from kafkalike.cli.tools.support.options import Option, Parsed, long, switch
from kafkalike.cli.tools.support.tool import Tool, print_error

ACTIONS: Final = ("list", "describe", "delete", "reset-offsets", "delete-offsets")
SCENARIOS: Final = (
    "to-offset",
    "shift-by",
    "to-datetime",
    "by-duration",
    "to-earliest",
    "to-latest",
    "to-current",
    "from-file",
)
_VIEWS: Final = ("members", "offsets", "state")
_WARNING: Final = (
    "WARN: No action will be performed as the --execute option is missing."
    "In a future major release, the default behavior of this command will be to prompt the user "
    "before executing the reset rather than doing a dry run. You should add the --dry-run option "
    "explicitly if you are scripting this command and want to keep the current default behavior "
    "without prompting."
)

OPTIONS: Final = (
    BOOTSTRAP_SERVER,
    COMMAND_CONFIG,
    switch("list", "List the groups, with --state also their states."),
    switch("describe", "Show how far groups are, or their members, or their state."),
    switch("delete", "Delete groups that have no members."),
    switch(
        "reset-offsets",
        "Set the offsets of a group that has no members: with --execute, else only shown. Takes"
        " one of --to-earliest, --to-latest, --to-current, --to-offset, --shift-by, --to-datetime,"
        " --by-duration, --from-file, and --topic or --all-topics.",
    ),
    switch("delete-offsets", "Forget the offsets of topics."),
    Option("group", "The group; may be given several times.", "consumer group"),
    switch("all-groups", "All groups."),
    Option("topic", "The topic, or some partitions of it as topic:0,1,2.", "topic"),
    switch("all-topics", "All topics for which the group has offsets."),
    Option(
        "timeout",
        "How long to wait for an answer.",
        "timeout (ms)",
        kind=long,
        kind_name="Long",
        default=5000,
    ),
    switch("dry-run", "Show the new offsets without setting them (the default)."),
    switch("execute", "Set the new offsets."),
    switch("export", "Write the new offsets as CSV."),
    Option("to-offset", "Reset to this offset.", "offset", kind=long, kind_name="Long"),
    Option("from-file", "Reset to the offsets in a CSV file.", "path to CSV file"),
    Option("to-datetime", "Reset to the first offset since YYYY-MM-DDTHH:mm:SS.sss.", "datetime"),
    Option("by-duration", "Reset to the first offset since PnDTnHnMnS ago.", "duration"),
    switch("to-earliest", "Reset to the earliest offset."),
    switch("to-latest", "Reset to the latest offset."),
    switch("to-current", "Reset to the current offset, or the latest where there is none."),
    Option(
        "shift-by",
        "Reset to the current offset plus this number, which may be negative.",
        "number-of-offsets",
        kind=long,
        kind_name="Long",
    ),
    switch("members", "Describe the members of the group."),
    switch("verbose", "With --members: what is assigned to them, too."),
    switch("offsets", "Describe the offsets of the group (the default)."),
    Option(
        "state",
        "Describe the state of the group; with --list show the states of all, or only groups in"
        " certain states (stable,empty).",
        "",
        value_is_optional=True,
    ),
    OUTPUT,
)


def check_arguments(parsed: Parsed) -> None:
    """Refuse options that do not fit together."""
    _check_available(parsed)
    check_required(parsed, "bootstrap-server")
    if parsed.has("describe"):
        _check_describe(parsed)
    if parsed.has("delete"):
        _needs_group(parsed, "delete")
        if parsed.has("topic"):
            raise UsageError(
                "The consumer does not support topic-specific offset deletion from a consumer "
                "group."
            )
    if parsed.has("delete-offsets") and count(parsed, ("group", "topic")) != 2:
        raise UsageError("Option [delete-offsets] takes the following options: [group], [topic]")
    if parsed.has("reset-offsets"):
        _check_reset(parsed)
    check_excluded(parsed, "group", ["all-groups", "list"])
    check_excluded(parsed, "topic", ["list", "describe"])
    if count(parsed, ACTIONS) != 1:
        raise UsageError(
            "Command must include exactly one action: --list, --describe, --delete, "
            "--reset-offsets, --delete-offsets"
        )


def _check_available(parsed: Parsed) -> None:
    needs_describe = [
        name
        for name in ("members", "verbose", "offsets")
        if parsed.has(name) and not parsed.has("describe")
    ]
    if parsed.has("state") and not count(parsed, ("describe", "list")):
        needs_describe.append("state")
    if needs_describe:
        raise OptionError(
            "UnavailableOptionException",
            f"Option(s) [{', '.join(needs_describe)}] are unavailable given other options on the "
            "command line",
        )


def _check_describe(parsed: Parsed) -> None:
    _needs_group(parsed, "describe")
    if count(parsed, _VIEWS) > 1:
        raise UsageError(
            "Option [describe] takes at most one of these options: [members], [offsets], [state]"
        )
    if parsed.value("state") is not None:
        raise UsageError("Option [describe] does not take a value for [state]")


def _check_reset(parsed: Parsed) -> None:
    if parsed.has("dry-run") and parsed.has("execute"):
        raise UsageError("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not parsed.has("dry-run") and not parsed.has("execute"):
        print_error(_WARNING)
    _needs_group(parsed, "reset-offsets")
    for scenario in SCENARIOS:
        check_excluded(parsed, scenario, [name for name in SCENARIOS if name != scenario])


def _needs_group(parsed: Parsed, action: str) -> None:
    if not count(parsed, ("group", "all-groups")):
        raise UsageError(f"Option [{action}] takes one of these options: [group], [all-groups]")


def run(parsed: Parsed) -> int:
    """Do what the options say."""
    check_arguments(parsed)
    # Inside, because the client takes longer to load than help takes to print.
    from kafkalike.cli.tools.group_service import run_action

    return run_action(parsed, next(action for action in ACTIONS if parsed.has(action)))


main: Final = Tool(
    "kafka-consumer-groups",
    "This tool helps to list all consumer groups, describe a consumer group, delete consumer group"
    " info, or reset consumer group offsets.",
    OPTIONS,
    run,
)
