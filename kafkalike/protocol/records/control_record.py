"""Control records: the markers that commit or abort a transaction.

The key says which kind of record it is (version, type), the value of a marker has a version and
the epoch of the transaction coordinator that wrote it.
"""

from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from kafkalike.protocol.errors import InvalidRecordError
from kafkalike.protocol.records.batch_builder import BatchBuilder
from kafkalike.protocol.records.record import NO_TIMESTAMP, Record
from kafkalike.protocol.records.record_batch import BatchHeader, Buffer
from kafkalike.protocol.records.record_reader import iter_records

_KEY = Struct(">hh")
_VALUE = Struct(">hi")
_KEY_VERSION = 0
_MARKER_VERSION = 0


class ControlRecordType(IntEnum):
    """What a control record is for; a type that we do not know is to be skipped."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    QUORUM_REASSIGNMENT = 2
    LEADER_CHANGE = 3


_KNOWN_TYPES = {int(kind): kind for kind in ControlRecordType}


class EndTransactionMarker(NamedTuple):
    """The end of a transaction in one partition."""

    control_type: ControlRecordType
    coordinator_epoch: int
    timestamp: int = NO_TIMESTAMP

    @property
    def is_aborted(self) -> bool:
        """Whether the transaction was rolled back."""
        return self.control_type is ControlRecordType.ABORT


def encode_control_key(control_type: ControlRecordType) -> bytes:
    """Return the key of a control record."""
    return _KEY.pack(_KEY_VERSION, control_type)


def parse_control_type(key: bytes | None) -> ControlRecordType:
    """Return the type that the key of a control record says."""
    if key is None or len(key) < _KEY.size:
        raise InvalidRecordError(f"Control record key has less than {_KEY.size} bytes")
    version, type_id = _KEY.unpack_from(key)
    if version < 0:
        raise InvalidRecordError(f"Invalid version found for control record: {version}")
    return _KNOWN_TYPES.get(type_id, ControlRecordType.UNKNOWN)


def parse_end_txn_marker(record: Record) -> EndTransactionMarker:
    """Return the marker in a control record; another kind raises `InvalidRecordError`."""
    control_type = parse_control_type(record.key)
    if control_type not in (ControlRecordType.COMMIT, ControlRecordType.ABORT):
        raise InvalidRecordError(f"{control_type.name} control record does not end a transaction")
    value = record.value
    if value is None or len(value) < _VALUE.size:
        raise InvalidRecordError(f"End transaction marker has less than {_VALUE.size} bytes")
    version, coordinator_epoch = _VALUE.unpack_from(value)
    if version < 0:
        raise InvalidRecordError(f"Invalid version found for end transaction marker: {version}")
    return EndTransactionMarker(control_type, coordinator_epoch, record.timestamp)


def read_end_txn_marker(
    data: Buffer, position: int, header: BatchHeader
) -> EndTransactionMarker | None:
    """Return the marker of a control batch; None if compaction has emptied the batch."""
    for record in iter_records(data, position, header):
        return parse_end_txn_marker(record)
    return None


def build_end_txn_marker(
    control_type: ControlRecordType,
    *,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytes:
    """Return the control batch that ends a transaction of a producer."""
    if control_type not in (ControlRecordType.COMMIT, ControlRecordType.ABORT):
        raise ValueError(f"{control_type.name} does not end a transaction")
    builder = BatchBuilder(
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
        leader_epoch=leader_epoch,
    )
    value = _VALUE.pack(_MARKER_VERSION, coordinator_epoch)
    builder.append(timestamp, encode_control_key(control_type), value)
    return builder.build()
