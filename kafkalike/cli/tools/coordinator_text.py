"""The records of `__consumer_offsets` and `__transaction_state` in Kafka's words.

Two dialects: that of `kafka-dump-log` (`dump_*`), and that of the console consumer's formatters
(`show_*`), which print Scala's objects as they are.
"""

import json
from typing import Final

from kafkalike.cli.tools.scala_text import hash_order, option, partition_hash, string_hash
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.consumer_protocol import PROTOCOL_TYPE, decode_assignment
from kafkalike.protocol.coordinator_records import (
    decode_group_key,
    decode_group_metadata_value,
    decode_offset_commit_value,
    decode_transaction_log_key,
    decode_transaction_log_value,
)
from kafkalike.protocol.errors import CorruptRecordError
from kafkalike.protocol.messages.coordinator_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
    TransactionLogValue,
)

_TXN_STATES: Final = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)
_DELETED: Final = "<DELETE>"
_NO_VALUE: Final = "NULL"


def dump_group_record(key: bytes | None, value: bytes | None) -> tuple[str, str]:
    """Return key and value of a record of `__consumer_offsets`."""
    if key is None:
        raise CorruptRecordError(
            "Failed to decode message using offset topic decoder (message had a missing key)"
        )
    decoded = decode_group_key(key)
    if isinstance(decoded, OffsetCommitKey):
        name = f"offset_commit::group={decoded.group},partition={decoded.topic}-{decoded.partition}"
        return name, _DELETED if value is None else _dump_offset(decode_offset_commit_value(value))
    name = f"group_metadata::group={decoded.group}"
    return name, _DELETED if value is None else _dump_group(decode_group_metadata_value(value))


def _dump_offset(value: OffsetCommitValue) -> str:
    metadata = f",metadata={value.metadata}" if value.metadata else ""
    return f"offset={value.offset}{metadata}"


def _dump_group(value: GroupMetadataValue) -> str:
    members = hash_order(value.members, lambda member: string_hash(member.member_id))
    is_consumer = value.protocol_type == PROTOCOL_TYPE
    assigned = ",".join(f"{m.member_id}={_dump_assignment(m, is_consumer)}" for m in members)
    described = {
        "protocolType": value.protocol_type or "",
        "protocol": value.protocol,
        "generationId": value.generation,
        "assignment": f"{{{assigned}}}",
    }
    return json.dumps(described, ensure_ascii=False, separators=(",", ":"))


def _dump_assignment(member: MemberMetadata, is_consumer: bool) -> str:
    if not is_consumer:
        return _as_number(member.assignment)
    assignment = decode_assignment(member.assignment)
    partitions = [
        f"{topic.topic}-{partition}"
        for topic in assignment.assigned_partitions
        for partition in topic.partitions
    ]
    user_data = _as_number(assignment.user_data or b"")
    return f"[{', '.join(partitions)}]" + (f":{user_data}" if user_data else "")


def _as_number(data: bytes) -> str:
    """Show bytes as Kafka does: one hexadecimal number, without the zeros in front."""
    return f"{int.from_bytes(data, 'big'):X}" if data else ""


def dump_transaction_record(key: bytes | None, value: bytes | None) -> tuple[str, str]:
    """Return key and value of a record of `__transaction_state`."""
    decoded = decode_transaction_log_key(key or b"")
    name = f"transaction_metadata::transactionalId={decoded.transactional_id}"
    if value is None:
        return name, _DELETED
    state = decode_transaction_log_value(value)
    return name, (
        f"producerId:{state.producer_id},"
        f"producerEpoch:{state.producer_epoch},"
        f"state={_txn_state(state)},"
        f"partitions=[{','.join(map(str, _txn_partitions(state)))}],"
        f"txnLastUpdateTimestamp={state.transaction_last_update_timestamp_ms},"
        f"txnTimeoutMs={state.transaction_timeout_ms}"
    )


def _txn_state(value: TransactionLogValue) -> str:
    number = value.transaction_status
    return _TXN_STATES[number] if 0 <= number < len(_TXN_STATES) else str(number)


def _txn_partitions(value: TransactionLogValue) -> list[TopicPartition]:
    partitions = [
        TopicPartition(topic.topic, partition)
        for topic in value.transaction_partitions or ()
        for partition in topic.partition_ids
    ]
    return hash_order(partitions, partition_hash)


def show_offset(key: bytes | None, value: bytes | None) -> str | None:
    """Return the line of `OffsetsMessageFormatter`; None for records that are no offsets."""
    decoded = None if key is None else decode_group_key(key)
    if not isinstance(decoded, OffsetCommitKey):
        return None
    place = f"[{decoded.group},{decoded.topic},{decoded.partition}]"
    return f"{place}::{_NO_VALUE if value is None else _show_offset(value)}"


def _show_offset(data: bytes) -> str:
    value = decode_offset_commit_value(data)
    epoch = "Optional.empty" if value.leader_epoch < 0 else f"Optional[{value.leader_epoch}]"
    expires = None if value.expire_timestamp == -1 else value.expire_timestamp
    return (
        f"OffsetAndMetadata(offset={value.offset}, leaderEpoch={epoch}, metadata={value.metadata}"
        f", commitTimestamp={value.commit_timestamp}, expireTimestamp={option(expires)})"
    )


def show_group(key: bytes | None, value: bytes | None) -> str | None:
    """Return the line of `GroupMetadataMessageFormatter`; None for records of no group."""
    decoded = None if key is None else decode_group_key(key)
    if not isinstance(decoded, GroupMetadataKey):
        return None
    return f"{decoded.group}::{_NO_VALUE if value is None else _show_group(decoded.group, value)}"


def _show_group(group: str, data: bytes) -> str:
    value = decode_group_metadata_value(data)
    members = hash_order(value.members, lambda member: string_hash(member.member_id))
    shown = ", ".join(f"{m.member_id} -> {_show_member(m, value.protocol)}" for m in members)
    return (
        f"GroupMetadata(groupId={group}, generation={value.generation}, "
        f"protocolType={option(value.protocol_type or None)}, "
        f"currentState={'Stable' if value.members else 'Empty'}, members=HashMap({shown}))"
    )


def _show_member(member: MemberMetadata, protocol: str | None) -> str:
    return (
        f"MemberMetadata(memberId={member.member_id}, "
        f"groupInstanceId={option(member.group_instance_id)}, clientId={member.client_id}, "
        f"clientHost={member.client_host}, sessionTimeoutMs={member.session_timeout}, "
        f"rebalanceTimeoutMs={member.rebalance_timeout}, supportedProtocols=List({protocol}), )"
    )


def show_transaction(key: bytes | None, value: bytes | None) -> str | None:
    """Return the line of `TransactionLogMessageFormatter`; None for a record without key."""
    if key is None:
        return None
    transactional_id = decode_transaction_log_key(key).transactional_id
    if value is None:
        return f"{transactional_id}::{_NO_VALUE}"
    state = decode_transaction_log_value(value)
    return (
        f"{transactional_id}::TransactionMetadata(transactionalId={transactional_id}, "
        f"producerId={state.producer_id}, producerEpoch={state.producer_epoch}, "
        f"txnTimeoutMs={state.transaction_timeout_ms}, state={_txn_state(state)}, "
        f"pendingState=None, topicPartitions=HashSet("
        f"{', '.join(map(str, _txn_partitions(state)))}), "
        f"txnStartTimestamp={state.transaction_start_timestamp_ms}, "
        f"txnLastUpdateTimestamp={state.transaction_last_update_timestamp_ms})"
    )
