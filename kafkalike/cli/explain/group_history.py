"""The generations of a group, as its coordinator has written them to `__consumer_offsets`.

Each generation is one record with its members and the time it began: what differs between two
of them is why the later one was needed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.consumer_protocol import PROTOCOL_TYPE, decode_assignment
from kafkalike.protocol.coordinator_records import decode_group_key, decode_group_metadata_value
from kafkalike.protocol.errors import CorruptRecordError, ProtocolError
from kafkalike.protocol.messages import coordinator_records
from kafkalike.protocol.messages.coordinator_records import GroupMetadataKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member of a generation."""

    member_id: str
    client_id: str
    host: str
    group_instance_id: str | None = None
    session_timeout_ms: int = 0
    rebalance_timeout_ms: int = 0
    partitions: Sequence[TopicPartition] = ()

    @property
    def name(self) -> str:
        """How people tell it from others: the static name, or client id and the id's beginning."""
        if self.group_instance_id is not None:
            return f"{self.client_id} (static member {self.group_instance_id})"
        return f"{self.client_id} at {self.host.removeprefix('/')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """A generation: its number, the assignor, when it began, who was in it."""

    number: int
    protocol: str | None
    began_ms: int | None
    members: Mapping[str, Member]

    def as_json(self) -> dict[str, Any]:
        """Return it for JSON."""
        members = [
            asdict(member) | {"partitions": [str(tp) for tp in member.partitions]}
            for member in self.members.values()
        ]
        return {
            "generation": self.number,
            "protocol": self.protocol,
            "began_ms": self.began_ms,
            "members": members,
        }


def generations(
    group: str, records: Iterable[tuple[bytes | None, bytes | None]]
) -> list[Generation]:
    """Return the generations of a group among the records of `__consumer_offsets`, in order.

    Commits of static members' new ids repeat a generation; the last record of each counts.
    """
    found: dict[int, Generation] = {}
    for key, value in records:
        try:
            name = decode_group_key(key or b"")
        except (CorruptRecordError, ProtocolError):
            continue  # a record of a later version of Kafka, or none of ours
        if not isinstance(name, GroupMetadataKey) or name.group != group:
            continue
        if value is None:
            found.clear()  # the group was deleted
            continue
        generation = _generation(decode_group_metadata_value(value))
        found.pop(generation.number, None)
        found[generation.number] = generation
    return list(found.values())


def _generation(value: coordinator_records.GroupMetadataValue) -> Generation:
    is_consumer = value.protocol_type == PROTOCOL_TYPE
    members = [_member(member, is_consumer) for member in value.members]
    return Generation(
        number=value.generation,
        protocol=value.protocol,
        began_ms=value.current_state_timestamp if value.current_state_timestamp >= 0 else None,
        members={member.member_id: member for member in members},
    )


def _member(member: coordinator_records.MemberMetadata, is_consumer: bool) -> Member:
    return Member(
        member_id=member.member_id,
        client_id=member.client_id,
        host=member.client_host,
        group_instance_id=member.group_instance_id,
        session_timeout_ms=member.session_timeout,
        rebalance_timeout_ms=member.rebalance_timeout,
        partitions=_partitions(member.assignment) if is_consumer else (),
    )


def _partitions(assignment: bytes) -> list[TopicPartition]:
    if not assignment:
        return []
    return sorted(
        TopicPartition(topic.topic, partition)
        for topic in decode_assignment(assignment).assigned_partitions
        for partition in topic.partitions
    )
