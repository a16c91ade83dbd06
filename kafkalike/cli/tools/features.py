"""`kafka-features`: supported and finalized features of a cluster (Kafka's `FeatureCommand`)."""

from typing import TYPE_CHECKING, Any, Final

from kafkalike.cli.tools.support.checks import check_required, count
from kafkalike.cli.tools.support.client import client_settings, with_admin
from kafkalike.cli.tools.support.errors import ToolFailure, UsageError
from kafkalike.cli.tools.support.listing import OUTPUT, show
from kafkalike.cli.tools.support.options import Option, Parsed, switch
from kafkalike.cli.tools.support.tool import Tool, print_line

if TYPE_CHECKING:
    from kafkalike.client.admin.admin_client import Admin

_ACTIONS: Final = ("describe", "upgrade-all", "downgrade-all")

# Kafka 2.8 finalizes none, so its tool knows none; the highest version level by name.
KNOWN_FEATURES: Final[dict[str, int]] = {}

OPTIONS: Final = (
    Option("bootstrap-server", "REQUIRED: The brokers to begin with.", "server to connect to"),
    Option(
        "command-config",
        "A properties file with settings of the client.",
        "command config property file",
        value_is_optional=True,
    ),
    switch("describe", "Show supported and finalized features."),
    switch("upgrade-all", "Finalize all features at the highest version that the tool knows."),
    switch("downgrade-all", "Lower all features to the highest version that the tool knows."),
    switch("dry-run", "Only show what an upgrade or downgrade would do."),
    OUTPUT,
)


def run(parsed: Parsed) -> None:
    """Describe or update features."""
    if count(parsed, _ACTIONS) != 1:
        raise UsageError(
            "Command must include exactly one action: --describe, --upgrade-all, --downgrade-all."
        )
    check_required(parsed, "bootstrap-server")
    if parsed.has("dry-run") and parsed.has("describe"):
        raise UsageError(
            "Command can contain --dry-run option only when either --upgrade-all or "
            "--downgrade-all actions are provided."
        )
    from kafkalike.cli.tools.support.java_names import java_text
    from kafkalike.protocol.errors import KafkaError

    try:
        with_admin(client_settings(parsed), lambda admin: _run(admin, parsed))
    except KafkaError as error:
        raise ToolFailure(
            f"\nError encountered when executing command: {java_text(error)}\n"
        ) from error


async def _run(admin: "Admin", parsed: Parsed) -> None:
    found = await admin.describe_features()
    if parsed.has("describe"):
        rows = rows_of(found)
        show(parsed, rows, lambda: [_line(row) for row in rows])
        return
    finalized = {f["name"]: f["max_version_level"] for f in found["finalized_features"]}
    updates = planned(finalized, KNOWN_FEATURES, upgrade=parsed.has("upgrade-all"))
    if parsed.has("dry-run"):
        if updates:
            print_line("Expected feature updates:" + "\n".join(text for text, _, _ in updates))
        return
    await _apply(admin, updates)


def rows_of(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one row for each feature that is supported or finalized."""
    supported = {f["name"]: f for f in found["supported_features"]}
    finalized = {f["name"]: f for f in found["finalized_features"]}
    epoch = found["finalized_features_epoch"]
    return [
        {
            "feature": name,
            "supported_min": supported.get(name, {}).get("min_version"),
            "supported_max": supported.get(name, {}).get("max_version"),
            "finalized_min": finalized.get(name, {}).get("min_version_level"),
            "finalized_max": finalized.get(name, {}).get("max_version_level"),
            "epoch": epoch if epoch >= 0 else None,
        }
        for name in sorted({*supported, *finalized})
    ]


def _line(row: dict[str, Any]) -> str:
    shown = {key: "-" if value is None else value for key, value in row.items()}
    return (
        f"Feature: {shown['feature']}"
        f"\tSupportedMinVersion: {shown['supported_min']}"
        f"\tSupportedMaxVersion: {shown['supported_max']}"
        f"\tFinalizedMinVersionLevel: {shown['finalized_min']}"
        f"\tFinalizedMaxVersionLevel: {shown['finalized_max']}"
        f"\tEpoch: {shown['epoch']}"
    )


def planned(
    finalized: dict[str, int], known: dict[str, int], *, upgrade: bool
) -> list[tuple[str, str, int]]:
    """Return what to change: the words for it, the feature, its new highest level (0: none)."""
    found = []
    for name in sorted(known if upgrade else finalized):
        old, new = finalized.get(name), known.get(name)
        if new is not None and (old is None or (new > old if upgrade else new < old)):
            operation = "[Add]" if old is None else "[Upgrade]" if upgrade else "[Downgrade]"
        elif new is None:
            operation = "[Delete]"
        else:
            continue
        words = (
            f"{operation:>11}\tFeature: {name}"
            f"\tExistingFinalizedMaxVersion: {'-' if old is None else old}"
            f"\tNewFinalizedMaxVersion: {'-' if new is None else new}"
        )
        found.append((words, name, new or 0))
    return found


async def _apply(admin: "Admin", updates: list[tuple[str, str, int]]) -> None:
    from kafkalike.cli.tools.support.java_names import java_text
    from kafkalike.protocol.errors import KafkaError

    failures = 0
    for words, name, level in updates:
        try:
            await admin.update_features({name: (level, "[Add]" not in words)})
        except KafkaError as error:
            print_line(f"{words}\tResult: FAILED due to {java_text(error)}")
            failures += 1
        else:
            print_line(f"{words}\tResult: OK")
    if failures:
        raise ToolFailure


main: Final = Tool(
    "kafka-features", "This tool describes and updates finalized features.", OPTIONS, run
)
