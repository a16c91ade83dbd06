"""`kafka-get-offsets`: the offsets of a topic's partitions at a time (`GetOffsetShell`)."""

from typing import TYPE_CHECKING, Any, Final

from kafkalike.cli.tools.support.checks import check_required
from kafkalike.cli.tools.support.client import client_settings, with_admin
from kafkalike.cli.tools.support.errors import ToolFailure
from kafkalike.cli.tools.support.listing import OUTPUT, show
from kafkalike.cli.tools.support.options import Option, Parsed, integer, long
from kafkalike.cli.tools.support.tool import Tool, print_error
from kafkalike.model.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kafkalike.client.admin.admin_client import Admin

OPTIONS: Final = (
    Option(
        "broker-list",
        "REQUIRED: The brokers to begin with.",
        "hostname:port,...,hostname:port",
        aliases=("bootstrap-server",),
    ),
    Option("topic", "REQUIRED: The topic.", "topic"),
    Option("partitions", "Only these partitions: 0,1,2.", "partition ids", default=""),
    Option(
        "time",
        "The first offset at or after this time in ms; -1 is the end, -2 the beginning. Nothing"
        " is shown where no record is as young.",
        "timestamp/-1(latest)/-2(earliest)",
        kind=long,
        kind_name="Long",
        default=-1,
    ),
    Option("offsets", "Has no effect.", "count", kind=integer, kind_name="Integer", default=1),
    Option("max-wait-ms", "Has no effect.", "ms", kind=integer, kind_name="Integer", default=1000),
    OUTPUT,
)


def run(parsed: Parsed) -> None:
    """Ask the leaders and print `topic:partition:offset`."""
    check_required(parsed, "broker-list", "topic")
    topic = parsed.value("topic")
    wanted = _partition_ids(parsed.value("partitions"))
    settings = client_settings(parsed, bootstrap="broker-list", config="") | {
        "client.id": "GetOffsetShell"
    }
    time = parsed.value("time")
    found = with_admin(settings, lambda admin: _offsets(admin, topic, wanted, time))
    rows = [{"topic": topic, "partition": p, "offset": offset} for p, offset in found.items()]
    show(
        parsed,
        rows,
        lambda: (f"{topic}:{p}:{'' if at is None else at}" for p, at in found.items()),
    )


def _partition_ids(text: str | None) -> list[int]:
    try:
        return [int(part) for part in (text or "").split(",") if part]
    except ValueError:
        raise ToolFailure(
            "--partitions expects a comma separated list of numeric partition ids, but received: "
            f"{text}"
        ) from None


async def _offsets(
    admin: "Admin", topic: str, wanted: list[int], time: int
) -> dict[int, int | None]:
    leaders = await _leaders(admin, topic, wanted)
    for partition in wanted:
        if partition not in leaders:
            print_error(f"Error: partition {partition} does not exist")
    led = []
    for partition, leader in sorted(leaders.items()):
        if leader < 0:
            print_error(
                f"Error: partition {partition} does not have a leader. Skip getting offsets"
            )
        else:
            led.append(TopicPartition(topic, partition))
    found: dict[Any, Any] = await admin.list_partition_offsets(dict.fromkeys(led, time))
    return {tp.partition: _offset(found.get(tp)) for tp in led}


def _offset(found: Any) -> int | None:
    return None if found is None or found.offset < 0 else int(found.offset)


async def _leaders(admin: "Admin", topic: str, wanted: list[int]) -> dict[int, int]:
    """Return the leader of each partition; ends the tool if there are none."""
    described = [t for t in await admin.describe_topics() if t["name"] == topic]
    partitions = described[0]["partitions"] if described else []
    if not partitions:
        raise ToolFailure(f"Topic {topic} does not exist")
    leaders = {
        p["partition_index"]: p["leader_id"]
        for p in partitions
        if not wanted or p["partition_index"] in wanted
    }
    if not leaders:
        raise ToolFailure(
            f"Topic {topic} does not have any of the requested partitions "
            f"{','.join(map(str, wanted))}"
        )
    return leaders


main: Final = Tool(
    "kafka-get-offsets", "An interactive shell for getting topic offsets.", OPTIONS, run
)
