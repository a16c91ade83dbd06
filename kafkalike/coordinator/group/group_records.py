"""Groups and offsets as records of `__consumer_offsets` (part of Kafka's GroupMetadataManager)."""

from collections.abc import Iterable, Mapping
from typing import Final

from kafkalike.config.api_version import ApiVersion, api_version
from kafkalike.coordinator.group.group_metadata import GroupMetadata
from kafkalike.coordinator.group.group_offsets import OffsetAndMetadata
from kafkalike.coordinator.group.member_metadata import MemberMetadata
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.coordinator_records import (
    decode_group_metadata_value,
    decode_offset_commit_value,
    encode_group_metadata_key,
    encode_group_metadata_value,
    encode_offset_commit_key,
    encode_offset_commit_value,
)
from kafkalike.protocol.messages import coordinator_records
from kafkalike.protocol.messages.coordinator_records import GroupMetadataValue, OffsetCommitValue

KeyAndValue = tuple[bytes, bytes | None]

_NO_LEADER_EPOCH: Final = -1
_NO_TIMESTAMP: Final = -1
# Oldest inter.broker.protocol.version of each version of the values, newest first.
_GROUP_VERSIONS: Final = (
    (api_version("2.3-IV0"), 3),
    (api_version("2.1-IV0"), 2),
    (api_version("0.10.1-IV0"), 1),
)
_OFFSET_VERSIONS: Final = ((api_version("2.1-IV1"), 3), (api_version("2.1-IV0"), 2))


def group_record(
    group: GroupMetadata, assignment: Mapping[str, bytes], protocol: ApiVersion
) -> KeyAndValue:
    """Return the record of a group whose members have these assignments."""
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation_id,
        protocol=group.protocol_name,
        leader=group.leader_id,
        current_state_timestamp=_or_none(group.state_timestamp, _NO_TIMESTAMP),
        members=[
            _member_value(group, member, assignment[member.member_id])
            for member in group.members.values()
        ],
    )
    encoded = encode_group_metadata_value(value, _version(protocol, _GROUP_VERSIONS, 0))
    return encode_group_metadata_key(group.group_id), encoded


def _member_value(
    group: GroupMetadata, member: MemberMetadata, assignment: bytes
) -> coordinator_records.MemberMetadata:
    assert group.protocol_name is not None, "a group with members has a protocol"
    return coordinator_records.MemberMetadata(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout=member.rebalance_timeout_ms,
        session_timeout=member.session_timeout_ms,
        subscription=member.metadata(group.protocol_name),
        assignment=assignment,
    )


def offset_record(
    group_id: str, tp: TopicPartition, offset: OffsetAndMetadata, protocol: ApiVersion
) -> KeyAndValue:
    """Return the record of a committed offset."""
    # Only version 1 can say when the offset expires.
    is_explicit = offset.expire_timestamp is not None
    version = 1 if is_explicit else _version(protocol, _OFFSET_VERSIONS, 1)
    value = OffsetCommitValue(
        offset=offset.offset,
        leader_epoch=_or_none(offset.leader_epoch, _NO_LEADER_EPOCH),
        metadata=offset.metadata,
        commit_timestamp=offset.commit_timestamp,
        expire_timestamp=_or_none(offset.expire_timestamp, _NO_TIMESTAMP),
    )
    key = encode_offset_commit_key(group_id, tp.topic, tp.partition)
    return key, encode_offset_commit_value(value, version)


def tombstones(
    group_id: str, partitions: Iterable[TopicPartition], *, with_group: bool
) -> list[KeyAndValue]:
    """Return the records that delete offsets, and the group itself."""
    keys = [encode_offset_commit_key(group_id, tp.topic, tp.partition) for tp in partitions]
    if with_group:
        keys.append(encode_group_metadata_key(group_id))
    return [(key, None) for key in keys]


def read_offset(data: bytes) -> OffsetAndMetadata:
    """Read the value of a committed offset."""
    value = decode_offset_commit_value(data)
    return OffsetAndMetadata(
        offset=value.offset,
        leader_epoch=_none_if(value.leader_epoch, _NO_LEADER_EPOCH),
        metadata=value.metadata,
        commit_timestamp=value.commit_timestamp,
        expire_timestamp=_none_if(value.expire_timestamp, _NO_TIMESTAMP),
    )


def read_group(group_id: str, data: bytes, now_ms: int) -> GroupMetadata:
    """Read the value of a group."""
    value = decode_group_metadata_value(data)
    group = GroupMetadata(group_id, now_ms)
    group.load(
        generation_id=value.generation,
        protocol_type=value.protocol_type or None,
        protocol_name=value.protocol,
        leader_id=value.leader,
        state_timestamp=_none_if(value.current_state_timestamp, _NO_TIMESTAMP),
        members=[_member(value, member) for member in value.members],
    )
    return group


def _member(
    group: GroupMetadataValue, member: coordinator_records.MemberMetadata
) -> MemberMetadata:
    return MemberMetadata(
        member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout,
        session_timeout_ms=member.session_timeout,
        protocol_type=group.protocol_type,
        supported_protocols=[(group.protocol or "", member.subscription)],
        assignment=member.assignment,
    )


def _version(protocol: ApiVersion, versions: Iterable[tuple[ApiVersion, int]], oldest: int) -> int:
    return next((version for since, version in versions if protocol >= since), oldest)


def _or_none(value: int | None, none: int) -> int:
    return none if value is None else value


def _none_if(value: int, none: int) -> int | None:
    return None if value == none else value
