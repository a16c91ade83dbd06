"""What `kafka-reassign-partitions` does through ZooKeeper: `/admin/reassign_partitions`."""

from kafkalike.cli.tools.reassignment_moves import TerseError
from kafkalike.cli.tools.reassignment_plan import (
    BROKER_THROTTLES,
    FOLLOWER_RATE,
    LEADER_RATE,
    TOPIC_THROTTLES,
    Plan,
    moves_of,
    moving_brokers,
    parse_brokers,
    parse_topics,
    partition_lines,
    throttled_replicas,
)
from kafkalike.cli.tools.reassignment_service import (
    ALREADY_MOVING,
    VERIFY_WARNING,
    placeable,
    plan_of,
    print_clearing,
    print_current,
    print_proposal,
    print_started,
)
from kafkalike.cli.tools.support.options import Parsed
from kafkalike.cli.tools.support.partition_file import AdminCommandFailedError, read_text
from kafkalike.cli.tools.support.tool import print_line
from kafkalike.cli.tools.support.zookeeper import change_configs, with_zookeeper
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.zk.client.kafka_zk_client import KafkaZkClient
from kafkalike.zk.znodes import ConfigType


def run_through_zookeeper(parsed: Parsed, action: str) -> None:
    """Verify, generate or execute."""
    work = {"verify": _verify, "generate": _generate, "execute": _execute}[action]
    with_zookeeper(parsed.value("zookeeper"), lambda zk: work(zk, parsed))


async def _verify(zk: KafkaZkClient, parsed: Parsed) -> None:
    plan = _plan_without_directories(parsed)
    print_line(
        "Warning: because you are using the deprecated --zookeeper option, the results may be "
        "incomplete.  Use --bootstrap-server instead for more accurate results."
    )
    ongoing = await zk.get_partition_reassignment()
    current = await _current(zk, plan.topics)
    print_line("\n".join(partition_lines(plan, current, set(ongoing))))
    if not ongoing and not parsed.has("preserve-throttles"):
        await _clear_throttles(zk, plan)


async def _generate(zk: KafkaZkClient, parsed: Parsed) -> None:
    wanted = parse_brokers(parsed.value("broker-list"))
    topics = parse_topics(read_text(parsed.value("topics-to-move-json-file")))
    current = await _current(zk, topics)
    brokers = placeable(
        [(broker.id, broker.rack) for broker in await zk.get_all_brokers_in_cluster()],
        wanted,
        is_rack_aware=not parsed.has("disable-rack-aware"),
    )
    print_proposal(current, brokers)


async def _execute(zk: KafkaZkClient, parsed: Parsed) -> None:
    plan = _plan_without_directories(parsed)
    plan.check_executable()
    current = await _current(zk, plan.topics)
    await _check_existence(zk, plan, current)
    if await zk.reassign_partitions_in_progress():
        raise TerseError(ALREADY_MOVING)
    print_current(plan, current)
    rate = parsed.value("throttle")
    if rate >= 0:
        print_line(VERIFY_WARNING)
        await _limit(zk, plan, current, rate)
    await zk.create_partition_reassignment({tp: tuple(to) for tp, to in plan.entries})
    print_started(plan)


async def _check_existence(
    zk: KafkaZkClient, plan: Plan, current: dict[TopicPartition, list[int]]
) -> None:
    missing = [str(tp) for tp in plan.assignment if tp not in current]
    if missing:
        raise AdminCommandFailedError(
            f"The proposed assignment contains non-existent partitions: List({', '.join(missing)})"
        )
    strange = sorted(plan.brokers - set(await zk.get_sorted_broker_list()))
    if strange:
        raise AdminCommandFailedError(
            "The proposed assignment contains non-existent brokerIDs: "
            f"{','.join(map(str, strange))}"
        )


async def _limit(
    zk: KafkaZkClient, plan: Plan, current: dict[TopicPartition, list[int]], rate: int
) -> None:
    moves = moves_of({}, plan.assignment, current)
    for topic, configs in throttled_replicas(moves).items():
        await change_configs(zk, ConfigType.TOPIC, topic, configs)
    for broker in moving_brokers(moves):
        limits = {LEADER_RATE: str(rate), FOLLOWER_RATE: str(rate)}
        await change_configs(zk, ConfigType.BROKER, str(broker), limits)
    print_line(f"The inter-broker throttle limit was set to {rate} B/s")


async def _clear_throttles(zk: KafkaZkClient, plan: Plan) -> None:
    brokers = sorted({*await zk.get_sorted_broker_list(), *plan.brokers})
    print_clearing(brokers, plan.topics)
    for broker in brokers:
        await _remove(zk, ConfigType.BROKER, str(broker), BROKER_THROTTLES)
    for topic in plan.topics:
        await _remove(zk, ConfigType.TOPIC, topic, TOPIC_THROTTLES)


async def _remove(zk: KafkaZkClient, kind: str, name: str, keys: tuple[str, ...]) -> None:
    present = [key for key in await zk.get_entity_configs(kind, name) if key in keys]
    if present:
        await change_configs(zk, kind, name, {}, present)


def _plan_without_directories(parsed: Parsed) -> Plan:
    plan = plan_of(parsed)
    if plan.directories:
        raise AdminCommandFailedError(
            "bootstrap-server needs to be provided when replica reassignments are present."
        )
    return plan


async def _current(zk: KafkaZkClient, topics: list[str]) -> dict[TopicPartition, list[int]]:
    found = await zk.get_replica_assignment_for_topics(topics)
    return {tp: list(replicas) for tp, replicas in found.items()}
