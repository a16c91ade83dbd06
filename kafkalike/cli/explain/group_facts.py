"""What is known about a group: what its coordinator says now, and what it has written before."""

from typing import Any, Final

from kafkalike.cli.explain.group_history import Generation, Member, generations
from kafkalike.cli.explain.group_reasons import GroupFacts
from kafkalike.cli.tools.group_service import partition_assignments
from kafkalike.cli.tools.support.client import client_arguments, with_admin
from kafkalike.cli.tools.topic_records import records_of
from kafkalike.client.admin.admin_client import Admin
from kafkalike.client.blocking_consumer import KafkaConsumer
from kafkalike.client.consumer.consumer_config import ConsumerConfig
from kafkalike.client.kafka_client import GROUP
from kafkalike.coordinator.partitioning import partition_for
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import KafkaError

_TOPIC: Final = "__consumer_offsets"
_MOST_RECORDS: Final = 50_000


def group_facts(settings: dict[str, Any], group: str) -> GroupFacts | None:
    """Ask the coordinator and read its log; None if there is no such group."""
    known = with_admin(settings, lambda admin: _ask(admin, group))
    if known is None:
        return None
    history: list[Generation] = []
    problem = ""
    try:
        history = _history(settings, group, known["offsets_partition"])
    except KafkaError as error:
        problem = f"__consumer_offsets cannot be read ({error})"
    return GroupFacts(**known, history=history, history_problem=problem)


async def _ask(admin: Admin, group: str) -> dict[str, Any] | None:
    described = (await admin.describe_groups([group]))[group]
    if described["group_state"] == "Dead":
        return None
    node = await admin.client.find_coordinator(group, GROUP)
    (topic,) = await admin.describe_topics([_TOPIC])
    members = [_member(member) for member in described["members"]]
    rows = await partition_assignments(admin, described)
    return {
        "group": group,
        "state": described["group_state"],
        "coordinator": node.id,
        "offsets_partition": partition_for(group, len(topic["partitions"])),
        "members": {member.member_id: member for member in members},
        "rows": rows,
        "protocol": described["protocol_data"],
        "partition_count": sum(len(member.partitions) for member in members),
    }


def _member(member: dict[str, Any]) -> Member:
    assigned = member["member_assignment"]
    return Member(
        member_id=member["member_id"],
        client_id=member["client_id"],
        host=member["client_host"],
        group_instance_id=member["group_instance_id"],
        partitions=[] if isinstance(assigned, bytes) else assigned,
    )


def _history(settings: dict[str, Any], group: str, partition: int) -> list[Generation]:
    arguments = client_arguments(ConsumerConfig, settings)
    arguments |= {"group_id": None, "enable_auto_commit": False}
    with KafkaConsumer(**arguments) as consumer:
        records = records_of(consumer, [TopicPartition(_TOPIC, partition)], _MOST_RECORDS)
        return generations(group, ((record.key, record.value) for record in records))
