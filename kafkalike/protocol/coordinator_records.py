"""Keys and values of the records in `__consumer_offsets` and `__transaction_state`.

Each begins with its version. In `__consumer_offsets` the version of the key also tells its kind: 0
and 1 are a committed offset, 2 is the metadata of a group. A record without value (a tombstone) is
for the caller to see. Which version to write depends on `inter.broker.protocol.version` and is an
argument; the default is that of 2.8.
"""

from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.messages.coordinator_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
    TransactionLogKey,
    TransactionLogValue,
)
from kafkalike.protocol.versioned import VERSION_SIZE, encode_versioned, read_version


def encode_offset_commit_key(group: str, topic: str, partition: int) -> bytes:
    """Return the key of a committed offset."""
    key = OffsetCommitKey(group=group, topic=topic, partition=partition)
    return encode_versioned(key, OffsetCommitKey.max_version)


def encode_group_metadata_key(group: str) -> bytes:
    """Return the key of a group's metadata."""
    return encode_versioned(GroupMetadataKey(group=group), GroupMetadataKey.max_version)


def encode_transaction_log_key(transactional_id: str) -> bytes:
    """Return the key of a transactional id's state."""
    key = TransactionLogKey(transactional_id=transactional_id)
    return encode_versioned(key, TransactionLogKey.max_version)


def encode_offset_commit_value(
    value: OffsetCommitValue, version: int = OffsetCommitValue.max_version
) -> bytes:
    """Return the value of a committed offset. Only version 1 has `expire_timestamp`."""
    return encode_versioned(value, version)


def encode_group_metadata_value(
    value: GroupMetadataValue, version: int = GroupMetadataValue.max_version
) -> bytes:
    """Return the value of a group's metadata."""
    return encode_versioned(value, version)


def encode_transaction_log_value(value: TransactionLogValue) -> bytes:
    """Return the value of a transactional id's state."""
    return encode_versioned(value, TransactionLogValue.max_version)


def decode_group_key(data: bytes) -> OffsetCommitKey | GroupMetadataKey:
    """Read a key of `__consumer_offsets`."""
    version = read_version(data)
    if OffsetCommitKey.min_version <= version <= OffsetCommitKey.max_version:
        return OffsetCommitKey.decode(data, version, VERSION_SIZE)
    if GroupMetadataKey.min_version <= version <= GroupMetadataKey.max_version:
        return GroupMetadataKey.decode(data, version, VERSION_SIZE)
    raise ProtocolError(f"__consumer_offsets has no key of version {version}")


def decode_offset_commit_value(data: bytes) -> OffsetCommitValue:
    """Read the value of a committed offset."""
    return OffsetCommitValue.decode(data, read_version(data), VERSION_SIZE)


def decode_group_metadata_value(data: bytes) -> GroupMetadataValue:
    """Read the value of a group's metadata.

    Version 0 had one timeout for everything: members get it as their rebalance timeout too.
    """
    version = read_version(data)
    value = GroupMetadataValue.decode(data, version, VERSION_SIZE)
    if version == 0:
        for member in value.members:
            member.rebalance_timeout = member.session_timeout
    return value


def decode_transaction_log_key(data: bytes) -> TransactionLogKey:
    """Read a key of `__transaction_state`."""
    return TransactionLogKey.decode(data, read_version(data), VERSION_SIZE)


def decode_transaction_log_value(data: bytes) -> TransactionLogValue:
    """Read a value of `__transaction_state`."""
    return TransactionLogValue.decode(data, read_version(data), VERSION_SIZE)
