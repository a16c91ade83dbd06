"""What `kafka-topics --zookeeper` does on the znodes (Kafka's `ZookeeperTopicService`)."""

from collections.abc import Sequence
from random import SystemRandom

from kafkalike.cli.tools.support.errors import IllegalArgumentError
from kafkalike.cli.tools.support.options import Parsed
from kafkalike.cli.tools.support.partition_file import AdminOperationError
from kafkalike.cli.tools.support.tool import print_line
from kafkalike.cli.tools.support.zookeeper import change_configs, with_zookeeper
from kafkalike.cli.tools.topic_description import PartitionDescription, TopicDescription
from kafkalike.cli.tools.topic_request import TopicRequest
from kafkalike.cli.tools.topic_service import (
    check_existence,
    chosen,
    show_topics,
    wanted_of,
    warn_of_collisions,
)
from kafkalike.cluster.replica_placement import BrokerMetadata, assign_replicas_to_brokers
from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.model.topic import has_collision, is_internal, why_invalid
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.model.uuid import uuid_to_string
from kafkalike.protocol.errors import InvalidPartitionsError, InvalidTopicError, TopicExistsError
from kafkalike.zk.client.kafka_zk_client import KafkaZkClient
from kafkalike.zk.errors import NodeExistsError
from kafkalike.zk.znodes import ConfigType


def run_through_zookeeper(parsed: Parsed, action: str) -> None:
    """Create, alter, list, describe or delete."""
    work = {
        "create": _create,
        "alter": _alter,
        "list": _list,
        "describe": _describe,
        "delete": _delete,
    }[action]
    with_zookeeper(parsed.value("zookeeper"), lambda zk: work(zk, parsed))


async def _create(zk: KafkaZkClient, parsed: Parsed) -> None:
    wanted = TopicRequest.of(parsed)
    warn_of_collisions(wanted.name)
    try:
        await _write_topic(zk, wanted, await _placeable(zk, parsed))
    except TopicExistsError:
        if not parsed.has("if-not-exists"):
            raise
    else:
        print_line(f"Created topic {wanted.name}.")


async def _write_topic(
    zk: KafkaZkClient, wanted: TopicRequest, brokers: list[BrokerMetadata]
) -> None:
    await _check_name(zk, wanted.name)
    assignment: dict[int, tuple[int, ...]]
    if wanted.assignment is not None:
        assignment = {p: tuple(replicas) for p, replicas in wanted.assignment.items()}
    else:
        assignment = assign_replicas_to_brokers(
            brokers, wanted.partitions or 0, wanted.replication_factor or 0, SystemRandom()
        )
    await zk.set_or_create_entity_configs(ConfigType.TOPIC, wanted.name, wanted.configs)
    try:
        # Without an id: the controller gives it one, as it does to topics of older clusters.
        await zk.create_topic_assignment(
            wanted.name, None, {TopicPartition(wanted.name, p): r for p, r in assignment.items()}
        )
    except NodeExistsError:
        raise TopicExistsError(f"Topic '{wanted.name}' already exists.") from None


async def _check_name(zk: KafkaZkClient, topic: str) -> None:
    problem = why_invalid(topic)
    if problem is not None:
        raise InvalidTopicError(problem)
    others = await zk.get_all_topics_in_cluster()
    if topic in others:
        raise TopicExistsError(f"Topic '{topic}' already exists.")
    colliding = sorted(other for other in others if has_collision(topic, other))
    if colliding:
        raise InvalidTopicError(
            f"Topic '{topic}' collides with existing topics: {', '.join(colliding)}"
        )


async def _placeable(zk: KafkaZkClient, parsed: Parsed) -> list[BrokerMetadata]:
    is_rack_aware = not parsed.has("disable-rack-aware")
    brokers = await zk.get_all_brokers_in_cluster()
    return [BrokerMetadata(broker.id, broker.rack if is_rack_aware else None) for broker in brokers]


async def _names(zk: KafkaZkClient, parsed: Parsed) -> list[str]:
    return chosen(parsed, sorted(await zk.get_all_topics_in_cluster()))


async def _existing(zk: KafkaZkClient, parsed: Parsed) -> list[str]:
    names = await _names(zk, parsed)
    check_existence(parsed, names)
    return names


async def _list(zk: KafkaZkClient, parsed: Parsed) -> None:
    going = set(await zk.get_topic_deletions())
    for name in await _names(zk, parsed):
        print_line(f"{name} - marked for deletion" if name in going else name)


async def _alter(zk: KafkaZkClient, parsed: Parsed) -> None:
    wanted = TopicRequest.of(parsed)
    for name in await _existing(zk, parsed):
        if wanted.configs or wanted.configs_to_delete:
            print_line(
                "WARNING: Altering topic configuration from this script has been deprecated and"
                " may be removed in future releases."
            )
            print_line("         Going forward, please use kafka-configs.sh for this functionality")
            await change_configs(
                zk, ConfigType.TOPIC, name, wanted.configs, wanted.configs_to_delete
            )
            print_line(f"Updated config for topic {name}.")
        if wanted.partitions is not None:
            await _add_partitions(zk, parsed, name, wanted)


async def _add_partitions(
    zk: KafkaZkClient, parsed: Parsed, name: str, wanted: TopicRequest
) -> None:
    if is_internal(name):
        raise IllegalArgumentError(
            f"The number of partitions for the internal topic {name} cannot be changed."
        )
    print_line(
        "WARNING: If partitions are increased for a topic that has a key, the partition logic or"
        " ordering of the messages will be affected"
    )
    (found,) = await zk.get_replica_assignment_and_topic_ids_for_topics([name])
    count = len(found.assignment)
    increment = (wanted.partitions or 0) - count
    if increment <= 0:
        raise InvalidPartitionsError(
            "The number of partitions for a topic can only be increased. Topic "
            f"{name} currently has {count} partitions, {wanted.partitions} would not be an "
            "increase."
        )
    first = found.assignment[TopicPartition(name, 0)].replicas
    added = _places(wanted, count) or _go_on(await _placeable(zk, parsed), first, count, increment)
    new = {TopicPartition(name, p): ReplicaAssignment(tuple(r)) for p, r in added.items()}
    await zk.set_topic_assignment(name, found.topic_id, {**found.assignment, **new})
    print_line("Adding partitions succeeded!")


def _places(wanted: TopicRequest, count: int) -> dict[int, tuple[int, ...]]:
    given = wanted.assignment or {}
    return {partition: tuple(r) for partition, r in given.items() if partition >= count}


def _go_on(
    brokers: list[BrokerMetadata], first: Sequence[int], count: int, increment: int
) -> dict[int, tuple[int, ...]]:
    """Place further partitions where the existing ones end."""
    start = next((i for i, broker in enumerate(brokers) if broker.id >= first[0]), 0)
    return assign_replicas_to_brokers(
        brokers,
        increment,
        len(first),
        SystemRandom(),
        fixed_start_index=start,
        start_partition_id=count,
    )


async def _describe(zk: KafkaZkClient, parsed: Parsed) -> None:
    names = await _existing(zk, parsed)
    live = frozenset(await zk.get_sorted_broker_list())
    going = set(await zk.get_topic_deletions())
    topics = [await _description(zk, name, name in going) for name in names]
    show_topics(parsed, topics, wanted_of(parsed, live))


async def _description(zk: KafkaZkClient, name: str, is_going: bool) -> TopicDescription:
    (found,) = await zk.get_replica_assignment_and_topic_ids_for_topics([name])
    states = await zk.get_topic_partition_states(found.assignment)
    partitions = []
    for tp, assignment in sorted(found.assignment.items()):
        state = states.get(tp)
        leader = state.leader_and_isr.leader if state else -1
        partitions.append(
            PartitionDescription(
                topic=name,
                partition=tp.partition,
                leader=leader if leader >= 0 else None,
                replicas=assignment.replicas,
                isr=state.leader_and_isr.isr if state else (),
                is_marked_for_deletion=is_going,
            )
        )
    return TopicDescription(
        name=name,
        topic_id=None if found.topic_id is None else uuid_to_string(found.topic_id),
        configs=await zk.get_entity_configs(ConfigType.TOPIC, name),
        partitions=partitions,
        is_marked_for_deletion=is_going,
    )


async def _delete(zk: KafkaZkClient, parsed: Parsed) -> None:
    for name in await _existing(zk, parsed):
        if is_internal(name):
            raise AdminOperationError(
                f"Topic {name} is a kafka internal topic and is not allowed to be marked for"
                " deletion."
            )
        try:
            await zk.create_delete_topic_path(name)
        except NodeExistsError:
            print_line(f"Topic {name} is already marked for deletion.")
            continue
        print_line(f"Topic {name} is marked for deletion.")
        print_line("Note: This will have no impact if delete.topic.enable is not set to true.")
