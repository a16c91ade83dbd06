"""What `kafka-consumer-groups` does (Kafka's `ConsumerGroupService`): list, describe, delete."""

from collections.abc import Callable, Coroutine
from typing import Any, Final

from kafkalike.cli.tools.group_queries import (
    committed_offsets,
    consumer_groups,
    group_ids,
    log_offsets,
    say_error,
    topic_partitions,
)
from kafkalike.cli.tools.group_reset import reset_offsets
from kafkalike.cli.tools.group_text import (
    MISSING,
    GroupState,
    MemberAssignment,
    PartitionAssignment,
    deleted_offset_lines,
    listed_state_lines,
    member_lines,
    offset_lines,
    state_lines,
)
from kafkalike.cli.tools.offset_reset import parse_partitions
from kafkalike.cli.tools.support.client import client_settings, with_admin
from kafkalike.cli.tools.support.errors import IllegalArgumentError, JavaError, UsageError
from kafkalike.cli.tools.support.java_names import java_text, message_of
from kafkalike.cli.tools.support.listing import (
    output_format,
    print_json,
    print_lines,
    table,
)
from kafkalike.cli.tools.support.options import Parsed
from kafkalike.cli.tools.support.tool import print_error, print_line
from kafkalike.client.admin.admin_client import Admin
from kafkalike.client.admin.values import OffsetSpec
from kafkalike.client.kafka_client import GROUP
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode, KafkaError

_STATES: Final = ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty")
_EXECUTION: Final = "java.util.concurrent.ExecutionException"

# What deleting offsets says of an error that concerns the group as a whole.
_DELETE_OFFSETS_ERRORS: Final = {
    ErrorCode.INVALID_GROUP_ID: "'{group}' is not valid.",
    ErrorCode.GROUP_ID_NOT_FOUND: "'{group}' does not exist.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Access to '{group}' is not authorized.",
    ErrorCode.NON_EMPTY_GROUP: (
        "Deleting offsets of a consumer group '{group}' is forbidden if the group is not empty."
    ),
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: (
        "Encounter some partition level error, see the follow-up details:"
    ),
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: (
        "Encounter some partition level error, see the follow-up details:"
    ),
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: (
        "Encounter some partition level error, see the follow-up details:"
    ),
}


def run_action(parsed: Parsed, action: str) -> int:
    """Do what the options say; Kafka's tool ends with 0 whatever happened."""
    actions: dict[str, Callable[[Admin, Parsed], Coroutine[Any, Any, None]]] = {
        "list": _list,
        "describe": _describe,
        "delete": _delete,
        "delete-offsets": _delete_offsets,
        "reset-offsets": reset_offsets,
    }
    timeout_ms = str(parsed.value("timeout"))
    settings = {"default.api.timeout.ms": timeout_ms} | client_settings(parsed)
    try:
        with_admin(settings, lambda admin: actions[action](admin, parsed))
    except IllegalArgumentError as error:
        raise UsageError(str(error)) from error
    except (KafkaError, JavaError) as error:
        is_answer = isinstance(error, KafkaError)
        message = java_text(error) if is_answer else message_of(error)
        say_error(f"Executing consumer group command failed due to {message}")
        print_error(f"{_EXECUTION}: {java_text(error)}" if is_answer else java_text(error))
    return 0


async def _list(admin: Admin, parsed: Parsed) -> None:
    with_state = parsed.has("state")
    states = _states(parsed.value("state") or "") if with_state else []
    groups = await consumer_groups(admin, states)
    shape = output_format(parsed)
    rows = [{"group": group["group_id"], "state": group["group_state"]} for group in groups]
    if shape == "json":
        print_json(rows)
    elif with_state:
        print_lines(listed_state_lines({row["group"]: row["state"] for row in rows}))
    else:
        print_lines(row["group"] for row in rows)


def _states(text: str) -> list[str]:
    known = {state.lower(): state for state in _STATES}
    names = [name.strip() for name in text.split(",") if name.strip()]
    if any(name.lower() not in known for name in names):
        raise IllegalArgumentError(
            f"Invalid state list '{text}'. Valid states are: {', '.join(_STATES)}"
        )
    return [known[name.lower()] for name in names]


async def _describe(admin: Admin, parsed: Parsed) -> None:
    groups = await admin.describe_groups(await group_ids(admin, parsed))
    documents: list[Any] = []
    for group_id, group in sorted(groups.items()):
        if parsed.has("members"):
            rows, lines = _members(group, parsed.has("verbose"))
        elif parsed.has("state"):
            rows, lines = await _state(admin, group)
        else:
            rows, lines = await _offsets(admin, group)
        documents.append({"group": group_id, "state": group["group_state"], "rows": rows})
        if output_format(parsed) != "json" and _is_shown(group, len(rows)):
            shown = lines if output_format(parsed) == "text" else ["", *table(rows)]
            print_lines(shown)
    if output_format(parsed) == "json":
        print_json(documents)


def _is_shown(group: dict[str, Any], row_count: int) -> bool:
    """Whether there is something to show; says so if the group is not stable."""
    name, state = group["group_id"], group["group_state"]
    if state == "Dead":
        say_error(f"Consumer group '{name}' does not exist.")
        return False
    if state == "Empty":
        print_error(f"\nConsumer group '{name}' has no active members.")
    elif state in ("PreparingRebalance", "CompletingRebalance"):
        print_error(f"\nWarning: Consumer group '{name}' is rebalancing.")
    return row_count > 0


def _members(group: dict[str, Any], verbose: bool) -> tuple[list[dict[str, Any]], list[str]]:
    members = [
        MemberAssignment(
            group=group["group_id"],
            consumer_id=member["member_id"],
            group_instance_id=member["group_instance_id"] or "",
            host=member["client_host"],
            client_id=member["client_id"],
            assignment=_assigned(member),
        )
        for member in group["members"]
    ]
    lines = member_lines(members, verbose=verbose) if members else []
    return [member.as_row() for member in members], lines


def _assigned(member: dict[str, Any]) -> list[TopicPartition]:
    """Return what is assigned to a member; bytes are what no consumer wrote."""
    assigned = member["member_assignment"]
    return [] if isinstance(assigned, bytes) else assigned


async def _state(admin: Admin, group: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    node = await admin.client.find_coordinator(group["group_id"], GROUP)
    state = GroupState(
        group=group["group_id"],
        coordinator=f"{node.host}:{node.port}",
        coordinator_id=node.id,
        assignment_strategy=group["protocol_data"],
        state=group["group_state"],
        members=len(group["members"]),
    )
    row = {name: getattr(state, name) for name in GroupState.__slots__}
    return [row], state_lines(state)


async def _offsets(admin: Admin, group: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    rows = await partition_assignments(admin, group)
    return [row.as_row() for row in rows], offset_lines(rows) if rows else []


async def partition_assignments(admin: Admin, group: dict[str, Any]) -> list[PartitionAssignment]:
    """Return how far a group is: what its members read first, what nobody reads last."""
    group_id = group["group_id"]
    committed = await committed_offsets(admin, group_id)
    with_some = [(member, _assigned(member)) for member in group["members"] if _assigned(member)]
    with_some.sort(key=lambda one: -len(one[1]))
    assigned = {tp for _, partitions in with_some for tp in partitions}
    alone = [tp for tp in committed if tp not in assigned]
    ends = await log_offsets(admin, [*assigned, *alone], OffsetSpec.LATEST)

    def row(tp: TopicPartition, consumer: str, host: str, client: str) -> PartitionAssignment:
        return PartitionAssignment(
            group=group_id,
            topic=tp.topic,
            partition=tp.partition,
            offset=committed.get(tp),
            log_end_offset=ends.get(tp),
            consumer_id=consumer,
            host=host,
            client_id=client,
        )

    read = [
        row(tp, member["member_id"], member["client_host"], member["client_id"])
        for member, partitions in with_some
        for tp in sorted(partitions, key=lambda tp: tp.partition)
    ]
    return read + [row(tp, MISSING, MISSING, MISSING) for tp in alone]


async def _delete(admin: Admin, parsed: Parsed) -> None:
    deleted: list[str] = []
    failed: dict[str, KafkaError] = {}
    for group_id in await group_ids(admin, parsed):
        try:
            await admin.delete_groups([group_id])
            deleted.append(group_id)
        except KafkaError as error:
            failed[group_id] = error
    names = ", ".join(f"'{group}'" for group in deleted)
    if not failed:
        print_line(f"Deletion of requested consumer groups ({names or repr('')}) was successful.")
        return
    say_error("Deletion of some consumer groups failed:")
    for group_id, why in failed.items():
        print_line(
            f"* Group '{group_id}' could not be deleted due to: {_EXECUTION}: {java_text(why)}"
        )
    if deleted:
        print_line(f"\nThese consumer groups were deleted successfully: {names}")


async def _delete_offsets(admin: Admin, parsed: Parsed) -> None:
    group_id, topics = parsed.value("group"), parsed.values("topic")
    outcomes: dict[TopicPartition, str | None] = {}
    partitions: list[TopicPartition] = []
    for topic in topics:
        named = parse_partitions(topic)
        try:
            partitions += await topic_partitions(admin, [topic]) if named is None else named
        except KafkaError as error:
            outcomes[TopicPartition(topic, -1)] = java_text(error)
    worst, each = await _ask_to_delete(admin, group_id, partitions)
    _say_deleted(worst, group_id, ", ".join(topics))
    print_lines(deleted_offset_lines(outcomes | each))


async def _ask_to_delete(
    admin: Admin, group_id: str, partitions: list[TopicPartition]
) -> tuple[int, dict[TopicPartition, str | None]]:
    """Return the error code of the whole, and what became of each partition."""
    worst = int(ErrorCode.NONE)
    each: dict[TopicPartition, str | None] = {}
    for tp in partitions:
        try:
            await admin.delete_group_offsets(group_id, [tp])
            each[tp] = None
        except KafkaError as error:
            worst = int(error.code)
            each[tp] = java_text(error)
    return worst, each


def _say_deleted(code: int, group_id: str, topics: str) -> None:
    if code == ErrorCode.NONE:
        print_line(f"Request succeed for deleting offsets with topic {topics} group {group_id}")
        return
    unknown = f"Encounter some unknown error: {ErrorCode(code).name}"
    say_error(_DELETE_OFFSETS_ERRORS.get(ErrorCode(code), unknown).format(group=group_id))
