"""`kafka-consumer-groups --reset-offsets`: which offsets a group would get, and setting them."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from kafkalike.cli.tools.group_queries import (
    committed_offsets,
    group_ids,
    log_offsets,
    say_error,
    topic_partitions,
)
from kafkalike.cli.tools.group_text import reset_lines
from kafkalike.cli.tools.offset_reset import (
    Plan,
    format_plan,
    parse_datetime_ms,
    parse_duration_ms,
    parse_partitions,
    parse_plan,
    shifted,
    within_range,
)
from kafkalike.cli.tools.support.errors import JavaError, UsageError
from kafkalike.cli.tools.support.listing import output_format, print_json, print_lines
from kafkalike.cli.tools.support.log4j import log_warning
from kafkalike.cli.tools.support.options import Parsed
from kafkalike.cli.tools.support.tool import print_line
from kafkalike.client.admin.admin_client import Admin
from kafkalike.client.admin.values import OffsetSpec
from kafkalike.client.consumer.offsets import OffsetAndMetadata
from kafkalike.model.topic_partition import TopicPartition

Offsets = dict[TopicPartition, int]


async def reset_offsets(admin: Admin, parsed: Parsed) -> None:
    """Show the new offsets of each group, and set them with `--execute`."""
    plan: Plan = {}
    reset = _Reset(admin, parsed)
    groups = await group_ids(admin, parsed)
    for group_id, group in (await admin.describe_groups(groups)).items():
        plan[group_id] = {}
        state = group["group_state"]
        if state not in ("Empty", "Dead"):
            say_error(
                f"Assignments can only be reset if the group '{group_id}' is inactive, but the "
                f"current state is {state}."
            )
            continue
        plan[group_id] = await reset.new_offsets(group_id)
        if parsed.has("execute") and not parsed.has("dry-run"):
            await _commit(admin, group_id, plan[group_id])
    _print(parsed, plan)


async def _commit(admin: Admin, group_id: str, offsets: Offsets) -> None:
    if offsets:
        new = {tp: OffsetAndMetadata(offset) for tp, offset in offsets.items()}
        await admin.alter_group_offsets(group_id, new)


def _print(parsed: Parsed, plan: Plan) -> None:
    if parsed.has("export"):
        print_line(format_plan(plan, with_group=len(parsed.values("group")) != 1))
    elif output_format(parsed) == "json":
        print_json(
            [
                {"group": group, "topic": tp.topic, "partition": tp.partition, "offset": offset}
                for group, offsets in plan.items()
                for tp, offset in offsets.items()
            ]
        )
    else:
        print_lines(reset_lines(plan))


class _Reset:
    """The new offsets of groups, by the scenario that the options name."""

    def __init__(self, admin: Admin, parsed: Parsed) -> None:
        self._admin = admin
        self._parsed = parsed
        self._plan: Plan | None = None
        if parsed.has("from-file"):
            self._plan = parse_plan(_read(parsed.value("from-file")), parsed.values("group"))

    async def new_offsets(self, group_id: str) -> Offsets:
        scenarios: dict[str, Callable[[str, list[TopicPartition]], Awaitable[Offsets]]] = {
            "to-offset": self._to_offset,
            "to-earliest": self._to_earliest,
            "to-latest": self._to_latest,
            "to-current": self._to_current,
            "shift-by": self._shift_by,
            "to-datetime": self._to_datetime,
            "by-duration": self._by_duration,
            "from-file": self._from_file,
        }
        partitions = await self._partitions(group_id)
        for name, scenario in scenarios.items():
            if self._parsed.has(name):
                return await scenario(group_id, partitions)
        raise UsageError(
            "Option '[reset-offsets]' requires one of the following scenarios: "
            f"{', '.join(f'[{name}]' for name in scenarios)}"
        )

    async def _partitions(self, group_id: str) -> list[TopicPartition]:
        if self._parsed.has("all-topics"):
            return list(await committed_offsets(self._admin, group_id))
        found: list[TopicPartition] = []
        for topic in self._parsed.values("topic"):
            named = parse_partitions(topic)
            found += await topic_partitions(self._admin, [topic]) if named is None else named
        if not self._parsed.has("topic") and self._plan is None:
            raise UsageError("One of the reset scopes should be defined: --all-topics, --topic.")
        return found

    async def _to_offset(self, group_id: str, partitions: list[TopicPartition]) -> Offsets:
        return await self._in_range(dict.fromkeys(partitions, self._parsed.value("to-offset")))

    async def _to_earliest(self, group_id: str, partitions: list[TopicPartition]) -> Offsets:
        return await log_offsets(self._admin, partitions, OffsetSpec.EARLIEST)

    async def _to_latest(self, group_id: str, partitions: list[TopicPartition]) -> Offsets:
        return await log_offsets(self._admin, partitions, OffsetSpec.LATEST)

    async def _to_current(self, group_id: str, partitions: list[TopicPartition]) -> Offsets:
        committed = await committed_offsets(self._admin, group_id)
        new = {tp: committed[tp] for tp in partitions if tp in committed}
        rest = [tp for tp in partitions if tp not in committed]
        return new | await log_offsets(self._admin, rest, OffsetSpec.LATEST)

    async def _shift_by(self, group_id: str, partitions: list[TopicPartition]) -> Offsets:
        committed = await committed_offsets(self._admin, group_id)
        return await self._in_range(shifted(partitions, committed, self._parsed.value("shift-by")))

    async def _to_datetime(self, group_id: str, partitions: list[TopicPartition]) -> Offsets:
        since_ms = parse_datetime_ms(self._parsed.value("to-datetime"))
        return await self._since(partitions, since_ms)

    async def _by_duration(self, group_id: str, partitions: list[TopicPartition]) -> Offsets:
        duration_ms = parse_duration_ms(self._parsed.value("by-duration"))
        return await self._since(partitions, self._admin.client.time.now_ms() - duration_ms)

    async def _from_file(self, group_id: str, partitions: list[TopicPartition]) -> Offsets:
        if self._plan is None or group_id not in self._plan:
            say_error(f"No reset plan for group {group_id} found")
            return {}
        return await self._in_range(self._plan[group_id])

    async def _since(self, partitions: list[TopicPartition], since_ms: int) -> Offsets:
        """Return the first offsets since a time; the end where no record is as young."""
        found = await log_offsets(self._admin, partitions, since_ms)
        late = [tp for tp, offset in found.items() if offset < 0]
        return found | await log_offsets(self._admin, late, OffsetSpec.LATEST)

    async def _in_range(self, wanted: Offsets) -> Offsets:
        starts = await log_offsets(self._admin, wanted, OffsetSpec.EARLIEST)
        ends = await log_offsets(self._admin, wanted, OffsetSpec.LATEST)
        found, warnings = within_range(wanted, starts, ends)
        for warning in warnings:
            log_warning(warning, "kafka.admin.ConsumerGroupCommand$")
        return found


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError as error:
        raise JavaError("java.nio.file.NoSuchFileException", f"{path} ({error.strerror})") from None
