"""What `kafka-topics` does through brokers (Kafka's `AdminClientTopicService`)."""

import re
from typing import Any, Final

from kafkalike.cli.tools.support.client import client_settings, with_admin
from kafkalike.cli.tools.support.errors import IllegalArgumentError, JavaError
from kafkalike.cli.tools.support.java_names import check
from kafkalike.cli.tools.support.listing import output_format, print_json, print_lines, table
from kafkalike.cli.tools.support.log4j import print_failure
from kafkalike.cli.tools.support.options import Parsed
from kafkalike.cli.tools.support.tool import print_line
from kafkalike.cli.tools.support.topic_filter import TopicFilter
from kafkalike.cli.tools.topic_description import (
    PartitionDescription,
    Reassignment,
    TopicDescription,
    Wanted,
    documents,
    lines,
)
from kafkalike.cli.tools.topic_request import TopicRequest
from kafkalike.client.admin.admin_client import Admin
from kafkalike.client.admin.values import (
    ConfigResource,
    ConfigResourceType,
    NewPartitions,
    NewTopic,
)
from kafkalike.model.topic import has_collision_chars, is_internal
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.model.uuid import ZERO_UUID, uuid_to_string
from kafkalike.protocol.errors import (
    ClusterAuthorizationError,
    ErrorCode,
    KafkaError,
    UnsupportedVersionError,
)

_MAX_SHORT: Final = (1 << 15) - 1
_NO_TOPIC_ID: Final = uuid_to_string(ZERO_UUID)
_COLLISION_WARNING: Final = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') "
    "could collide. To avoid issues it is best to use either, but not both."
)


def run_action(parsed: Parsed, action: str) -> int:
    """Do what the options say; an error is a line on both streams and exit code 1."""
    try:
        if parsed.has("zookeeper"):
            from kafkalike.cli.tools.topic_zookeeper_service import run_through_zookeeper

            run_through_zookeeper(parsed, action)
        else:
            _run_through_brokers(parsed, action)
    except (KafkaError, JavaError, re.error) as error:
        print_failure("Error while executing topic command : ", error, "kafka.admin.TopicCommand$")
        return 1
    return 0


def _run_through_brokers(parsed: Parsed, action: str) -> None:
    service = TopicService(parsed)
    work = {
        "create": service.create,
        "alter": service.alter,
        "list": service.list_names,
        "describe": service.describe,
        "delete": service.delete,
    }[action]
    with_admin(client_settings(parsed), work)


class TopicService:
    """The actions; each is given an admin client."""

    def __init__(self, parsed: Parsed) -> None:
        self._parsed = parsed

    async def create(self, admin: Admin) -> None:
        """Create the topic."""
        wanted = TopicRequest.of(self._parsed)
        warn_of_collisions(wanted.name)
        if not 1 <= (wanted.replication_factor or 1) <= _MAX_SHORT:
            raise IllegalArgumentError(
                f"The replication factor must be between 1 and {_MAX_SHORT} inclusive"
            )
        if wanted.partitions is not None and wanted.partitions < 1:
            raise IllegalArgumentError("The partitions must be greater than 0")
        answer = await admin.create_topics([_new_topic(wanted)], raise_errors=False)
        (created,) = answer["topics"]
        is_there = created["error_code"] == ErrorCode.TOPIC_ALREADY_EXISTS
        if is_there and self._parsed.has("if-not-exists"):
            return
        check(created["error_code"], created["error_message"])
        print_line(f"Created topic {wanted.name}.")

    async def list_names(self, admin: Admin) -> None:
        """Print the names of topics."""
        names = await self._names(admin)
        if output_format(self._parsed) == "json":
            print_json(names)
        else:
            print_line("\n".join(names))

    async def alter(self, admin: Admin) -> None:
        """Add partitions."""
        wanted = TopicRequest.of(self._parsed)
        names = await self._existing(admin)
        described = {t["name"]: t for t in await admin.describe_topics(names)} if names else {}
        partitions = {
            name: NewPartitions(wanted.partitions or 0, _places(wanted, described[name]))
            for name in names
        }
        if partitions:
            answer = await admin.create_partitions(partitions, raise_errors=False)
            for result in answer["results"]:
                check(result["error_code"], result["error_message"])

    async def delete(self, admin: Admin) -> None:
        """Delete topics."""
        names = await self._existing(admin)
        if names:
            answer = await admin.delete_topics(names, raise_errors=False)
            for result in answer["responses"]:
                check(result["error_code"], result["error_message"])

    async def describe(self, admin: Admin) -> None:
        """Print topics with their partitions."""
        names = await self._existing(admin)
        topics = await _described(admin, names) if names else []
        cluster = await admin.describe_cluster()
        live = frozenset(broker["broker_id"] for broker in cluster["brokers"])
        show_topics(self._parsed, topics, wanted_of(self._parsed, live))

    async def _names(self, admin: Admin) -> list[str]:
        return chosen(self._parsed, sorted(await admin.list_topics()))

    async def _existing(self, admin: Admin) -> list[str]:
        names = await self._names(admin)
        check_existence(self._parsed, names)
        return names


def warn_of_collisions(name: str) -> None:
    """Say that metrics may mix topics up."""
    if has_collision_chars(name):
        print_line(_COLLISION_WARNING)


def chosen(parsed: Parsed, names: list[str]) -> list[str]:
    """Return the topics that the options mean."""
    without_internal = parsed.has("exclude-internal")
    kept = [name for name in names if not (without_internal and is_internal(name))]
    expression = parsed.value("topic")
    if expression is None:
        return kept
    topic_filter = TopicFilter(expression)
    return [name for name in kept if topic_filter.matches(name)]


def check_existence(parsed: Parsed, names: list[str]) -> None:
    """Complain about a topic that was named and is not there."""
    expression = parsed.value("topic")
    if expression is not None and not names and not parsed.has("if-exists"):
        raise IllegalArgumentError(f"Topic '{expression}' does not exist as expected")


def wanted_of(parsed: Parsed, live_brokers: frozenset[int]) -> Wanted:
    """Return what `--describe` is to show."""
    return Wanted(
        live_brokers=live_brokers,
        only_overrides=parsed.has("topics-with-overrides"),
        only_under_replicated=parsed.has("under-replicated-partitions"),
        only_unavailable=parsed.has("unavailable-partitions"),
        only_under_min_isr=parsed.has("under-min-isr-partitions"),
        only_at_min_isr=parsed.has("at-min-isr-partitions"),
    )


def show_topics(parsed: Parsed, topics: list[TopicDescription], wanted: Wanted) -> None:
    """Print topics in the shape that is wanted."""
    shape = output_format(parsed)
    if shape == "json":
        print_json(documents(topics, wanted))
    elif shape == "table" and not wanted.only_overrides:
        shown = [p for topic in topics for p in topic.partitions if wanted.shows_partition(p)]
        print_lines(table(_rows(shown), _style))
    else:
        print_lines(lines(topics, wanted))


def _rows(partitions: list[PartitionDescription]) -> list[dict[str, Any]]:
    """Return rows with the same columns: those of a reassignment only if there is one."""
    names = list(dict.fromkeys(name for p in partitions for name in p.row()))
    return [dict.fromkeys(names) | p.row() for p in partitions]


def _style(row: Any) -> str | None:
    if row["leader"] is None:
        return "red"
    return "yellow" if len(row["isr"]) < len(row["replicas"]) else None


async def _described(admin: Admin, names: list[str]) -> list[TopicDescription]:
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
    configs = (await admin.describe_configs(resources))["topic"]
    topics = await admin.describe_topics(names)
    partitions = [
        TopicPartition(topic["name"], p["partition_index"])
        for topic in topics
        for p in topic["partitions"]
    ]
    moves = await _reassignments(admin, partitions)
    return [_description(topic, configs[topic["name"]], moves) for topic in topics]


async def _reassignments(
    admin: Admin, partitions: list[TopicPartition]
) -> dict[TopicPartition, Reassignment]:
    try:
        found = await admin.list_partition_reassignments(partitions)
    except (UnsupportedVersionError, ClusterAuthorizationError):
        return {}
    return {
        tp: Reassignment(
            replicas=move["replicas"],
            adding=move["adding_replicas"],
            removing=move["removing_replicas"],
        )
        for tp, move in found.items()
    }


def _description(
    topic: dict[str, Any],
    configs: dict[str, dict[str, Any]],
    moves: dict[TopicPartition, Reassignment],
) -> TopicDescription:
    check(topic["error_code"])
    name = topic["name"]
    own = {
        key: config["value"]
        for key, config in configs.items()
        if config["config_source"] != "DEFAULT_CONFIG"
    }
    min_isr = int(configs["min.insync.replicas"]["value"])
    return TopicDescription(
        name=name,
        topic_id=None if topic["topic_id"] == _NO_TOPIC_ID else topic["topic_id"],
        configs=own,
        partitions=[
            PartitionDescription(
                topic=name,
                partition=p["partition_index"],
                leader=p["leader_id"] if p["leader_id"] >= 0 else None,
                replicas=p["replica_nodes"],
                isr=p["isr_nodes"],
                min_isr=min_isr,
                reassignment=moves.get(TopicPartition(name, p["partition_index"])),
            )
            for p in sorted(topic["partitions"], key=lambda known: known["partition_index"])
        ],
    )


def _new_topic(wanted: TopicRequest) -> NewTopic:
    return NewTopic(
        wanted.name,
        -1 if wanted.partitions is None else wanted.partitions,
        -1 if wanted.replication_factor is None else wanted.replication_factor,
        wanted.assignment or {},
        wanted.configs,
    )


def _places(wanted: TopicRequest, described: dict[str, Any]) -> list[list[int]] | None:
    if wanted.assignment is None:
        return None
    return list(wanted.assignment.values())[len(described["partitions"]) :]
