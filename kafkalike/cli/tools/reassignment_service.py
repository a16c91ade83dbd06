"""What `kafka-reassign-partitions` does through brokers."""

from collections.abc import Iterable
from random import SystemRandom
from typing import Any, Final

from kafkalike.cli.tools.reassignment_moves import (
    TerseError,
    directories_of,
    execute_moves,
    limit_directory_moves,
)
from kafkalike.cli.tools.reassignment_plan import (
    BROKER_THROTTLES,
    FOLLOWER_RATE,
    LEADER_RATE,
    TOPIC_THROTTLES,
    Plan,
    format_plan,
    is_moving,
    moves_of,
    moving_brokers,
    parse_brokers,
    parse_plan,
    parse_topics,
    partition_lines,
    propose,
    replica_line,
    throttled_replicas,
)
from kafkalike.cli.tools.support.client import client_settings, with_admin
from kafkalike.cli.tools.support.errors import JavaError
from kafkalike.cli.tools.support.java_names import check, java_text, message_of
from kafkalike.cli.tools.support.listing import show
from kafkalike.cli.tools.support.options import Parsed
from kafkalike.cli.tools.support.partition_file import (
    AdminCommandFailedError,
    AdminOperationError,
    read_text,
)
from kafkalike.cli.tools.support.progress import Progress
from kafkalike.cli.tools.support.tool import print_line
from kafkalike.client.admin.admin_client import Admin
from kafkalike.client.admin.values import AlterConfigOp, ConfigResource, ConfigResourceType
from kafkalike.cluster.replica_placement import BrokerMetadata
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import KafkaError

ALREADY_MOVING: Final = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to "
    "override this and create a new partition assignment in addition to the existing one. The "
    "--additional flag can also be used to change the throttle by resubmitting the current "
    "reassignment."
)
VERIFY_WARNING: Final = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the "
    "throttle is removed."
)
_POLL_MS: Final = 200


def run_action(parsed: Parsed, action: str) -> int:
    """Do what the options say; what goes wrong is told on standard output, as Kafka does."""
    try:
        if parsed.has("bootstrap-server"):
            _run_through_brokers(parsed, action)
        else:
            from kafkalike.cli.tools.reassignment_zookeeper_service import run_through_zookeeper

            print_line(
                "Warning: --zookeeper is deprecated, and will be removed in a future version of"
                " Kafka."
            )
            run_through_zookeeper(parsed, action)
    except TerseError as error:
        print_line(str(error))
        return 1
    except JavaError as error:
        print_line(f"Error: {error}\n{java_text(error)}\n")
        return 1
    except KafkaError as error:
        text = java_text(error)
        if error.is_answer:
            print_line(f"Error: {text}\njava.util.concurrent.ExecutionException: {text}\n")
        else:
            print_line(f"Error: {message_of(error)}\n{text}\n")
        return 1
    return 0


def _run_through_brokers(parsed: Parsed, action: str) -> None:
    if parsed.has("zookeeper"):
        print_line(
            "Warning: ignoring deprecated --zookeeper option because --bootstrap-server was"
            " specified.  The --zookeeper option will be removed in a future version of Kafka."
        )
    settings = {"client.id": "reassign-partitions-tool"} | client_settings(parsed)
    work = {
        "verify": _verify,
        "generate": _generate,
        "execute": _execute,
        "cancel": _cancel,
        "list": _list,
    }[action]
    with_admin(settings, lambda admin: work(admin, parsed))


def plan_of(parsed: Parsed) -> Plan:
    """Read the plan that the options name."""
    return parse_plan(read_text(parsed.value("reassignment-json-file")))


async def _verify(admin: Admin, parsed: Parsed) -> None:
    plan = plan_of(parsed)
    if parsed.has("wait"):
        await _wait(admin, plan)
    ongoing = await admin.list_partition_reassignments()
    current = await _current(admin, plan.topics, strict=False)
    print_line("\n".join(partition_lines(plan, current, set(ongoing))))
    found = await directories_of(admin, plan.directories)
    moves = [replica_line(r, plan.directories[r], found[r]) for r in sorted(plan.directories)]
    print_line("\n".join(moves))
    is_done = not ongoing and not any(is_moving(where) for where in found.values())
    if is_done and not parsed.has("preserve-throttles"):
        await _clear_throttles(admin, plan)


async def _wait(admin: Admin, plan: Plan) -> None:
    wanted = {tp for tp, _ in plan.entries}
    with Progress("reassigning", len(wanted)) as bar:
        while left := wanted & set(await admin.list_partition_reassignments()):
            bar.update(len(wanted) - len(left), f"{len(left)} partitions to go")
            await admin.client.time.sleep_ms(_POLL_MS)
        bar.update(len(wanted))


async def _generate(admin: Admin, parsed: Parsed) -> None:
    wanted = parse_brokers(parsed.value("broker-list"))
    topics = parse_topics(read_text(parsed.value("topics-to-move-json-file")))
    current = await _current(admin, topics)
    cluster = await admin.describe_cluster()
    brokers = placeable(
        [(broker["broker_id"], broker["rack"]) for broker in cluster["brokers"]],
        wanted,
        is_rack_aware=not parsed.has("disable-rack-aware"),
    )
    print_proposal(current, brokers)


def placeable(
    brokers: Iterable[tuple[int, str | None]], wanted: list[int], *, is_rack_aware: bool
) -> list[BrokerMetadata]:
    """Return the brokers to spread over; refuses racks that only some of them have."""
    found = [
        BrokerMetadata(broker_id, rack if is_rack_aware else None)
        for broker_id, rack in brokers
        if broker_id in wanted
    ]
    without_rack = [broker for broker in found if broker.rack is None]
    if is_rack_aware and 0 < len(without_rack) < len(found):
        raise AdminOperationError(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to "
            "make replica assignment without rack information."
        )
    return found


def print_proposal(current: dict[TopicPartition, list[int]], brokers: list[BrokerMetadata]) -> None:
    """Print what is and what could be."""
    proposed = propose(current, brokers, SystemRandom())
    print_line(f"Current partition replica assignment\n{format_plan(current)}\n")
    print_line(f"Proposed partition reassignment configuration\n{format_plan(proposed)}")


async def _execute(admin: Admin, parsed: Parsed) -> None:
    plan = plan_of(parsed)
    plan.check_executable()
    ongoing = await admin.list_partition_reassignments()
    if ongoing and not parsed.has("additional"):
        raise TerseError(ALREADY_MOVING)
    known = await admin.broker_ids()
    for broker in sorted(plan.brokers):
        if broker not in known:
            raise AdminCommandFailedError(f"Unknown broker id {broker}")
    current = await _current(admin, plan.topics)
    print_current(plan, current)
    await _limit(admin, parsed, plan, ongoing, current)
    errors = await admin.alter_partition_reassignments(plan.assignment)
    _raise_if_failed("Error reassigning partition(s):", errors)
    print_started(plan)
    if plan.directories:
        await execute_moves(admin, plan.directories, parsed.value("timeout"))


async def _limit(admin: Admin, parsed: Parsed, plan: Plan, ongoing: Any, current: Any) -> None:
    rate, directory_rate = parsed.value("throttle"), parsed.value("replica-alter-log-dirs-throttle")
    if max(rate, directory_rate) >= 0:
        print_line(VERIFY_WARNING)
    if rate >= 0:
        moves = moves_of(ongoing, plan.assignment, current)
        for topic, configs in throttled_replicas(moves).items():
            await _set(admin, ConfigResourceType.TOPIC, topic, configs)
        for broker in moving_brokers(moves):
            limits = {LEADER_RATE: str(rate), FOLLOWER_RATE: str(rate)}
            await _set(admin, ConfigResourceType.BROKER, str(broker), limits)
        print_line(f"The inter-broker throttle limit was set to {rate} B/s")
    if directory_rate >= 0:
        await limit_directory_moves(admin, plan.directories, directory_rate)


def print_current(plan: Plan, current: dict[TopicPartition, list[int]]) -> None:
    """Print what the plan is about to change."""
    former = {tp: replicas for tp, replicas in current.items() if tp in plan.assignment}
    print_line(
        f"Current partition replica assignment\n\n{format_plan(former)}\n\n"
        "Save this to use as the --reassignment-json-file option during rollback"
    )


def print_started(plan: Plan) -> None:
    """Say that the plan is under way."""
    plural = "" if len(plan.entries) == 1 else "s"
    names = ",".join(str(tp) for tp, _ in sorted(plan.entries))
    print_line(f"Successfully started partition reassignment{plural} for {names}")


async def _cancel(admin: Admin, parsed: Parsed) -> None:
    plan = plan_of(parsed)
    found = await admin.list_partition_reassignments(list(plan.assignment))
    moving = sorted(
        tp for tp, move in found.items() if move["adding_replicas"] or move["removing_replicas"]
    )
    if moving:
        errors = await admin.alter_partition_reassignments(dict.fromkeys(moving))
        plural = "" if sum(map(bool, errors.values())) == 1 else "s"
        _raise_if_failed(f"Error cancelling partition reassignment{plural} for:", errors)
        plural = "" if len(moving) == 1 else "s"
        names = ",".join(map(str, moving))
        print_line(f"Successfully cancelled partition reassignment{plural} for: {names}")
    else:
        print_line("None of the specified partition reassignments are active.")
    await _cancel_moves(admin, plan, parsed.value("timeout"))
    if not parsed.has("preserve-throttles"):
        await _clear_throttles(admin, plan)


async def _cancel_moves(admin: Admin, plan: Plan, timeout_ms: int) -> None:
    found = await directories_of(admin, plan.directories)
    back = {
        replica: where.current
        for replica, where in found.items()
        if where.current is not None and where.future is not None
    }
    if back:
        await execute_moves(admin, back, timeout_ms)
    else:
        print_line("None of the specified partition moves are active.")


async def _list(admin: Admin, parsed: Parsed) -> None:
    found = sorted((await admin.list_partition_reassignments()).items())
    rows = [{"topic": tp.topic, "partition": tp.partition} | move for tp, move in found]

    def lines() -> list[str]:
        if not found:
            return ["No partition reassignments found."]
        return ["Current partition reassignments:", *(_line(tp, move) for tp, move in found)]

    show(parsed, rows, lines)


def _line(tp: TopicPartition, move: dict[str, Any]) -> str:
    text = f"{tp}: replicas: {','.join(map(str, move['replicas']))}."
    if move["adding_replicas"]:
        text += f" adding: {','.join(map(str, move['adding_replicas']))}."
    if move["removing_replicas"]:
        text += f" removing: {','.join(map(str, move['removing_replicas']))}."
    return text


def _raise_if_failed(words: str, errors: dict[TopicPartition, KafkaError | None]) -> None:
    failed = [f"{tp}: {message_of(e)}" for tp, e in sorted(errors.items(), key=_key) if e]
    if failed:
        raise TerseError("\n".join([words, *failed]))


def _key(item: tuple[TopicPartition, Any]) -> TopicPartition:
    return item[0]


async def _clear_throttles(admin: Admin, plan: Plan) -> None:
    brokers = sorted({*await admin.broker_ids(), *plan.brokers})
    print_clearing(brokers, plan.topics)
    for broker in brokers:
        await _remove(admin, ConfigResourceType.BROKER, str(broker), BROKER_THROTTLES)
    for topic in plan.topics:
        await _remove(admin, ConfigResourceType.TOPIC, topic, TOPIC_THROTTLES)


def print_clearing(brokers: list[int], topics: list[str]) -> None:
    """Say which throttles are lifted."""
    print_line(
        f"Clearing broker-level throttles on broker{'' if len(brokers) == 1 else 's'} "
        f"{','.join(map(str, brokers))}"
    )
    print_line(
        f"Clearing topic-level throttles on topic{'' if len(topics) == 1 else 's'} "
        f"{','.join(topics)}"
    )


async def _set(admin: Admin, kind: ConfigResourceType, name: str, configs: dict[str, str]) -> None:
    await admin.incremental_alter_configs([ConfigResource(kind, name, configs)])


async def _remove(admin: Admin, kind: ConfigResourceType, name: str, keys: tuple[str, ...]) -> None:
    operations = dict.fromkeys(keys, (AlterConfigOp.DELETE, ""))
    await admin.incremental_alter_configs([ConfigResource(kind, name, operations)])


async def _current(
    admin: Admin, topics: list[str], *, strict: bool = True
) -> dict[TopicPartition, list[int]]:
    """Return where the partitions of topics are; a topic that is not there is an error."""
    found: dict[TopicPartition, list[int]] = {}
    for topic in await admin.describe_topics(topics):
        if strict and topic["error_code"]:
            try:
                check(topic["error_code"])
            except KafkaError as error:
                error.is_answer = True
                raise
        for p in topic["partitions"]:
            found[TopicPartition(topic["name"], p["partition_index"])] = p["replica_nodes"]
    return found
