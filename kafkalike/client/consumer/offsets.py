"""The values of a consumer's positions, with the names and fields of kafka-python's."""

from typing import NamedTuple


class OffsetAndMetadata(NamedTuple):
    """A committed position: the offset to read next, a note, and the epoch it was read in."""

    offset: int
    metadata: str | None = ""
    leader_epoch: int = -1


class OffsetAndTimestamp(NamedTuple):
    """The first record at or after a time."""

    offset: int
    timestamp: int
    leader_epoch: int = -1


class ConsumerGroupMetadata(NamedTuple):
    """Who a consumer is in its group: fences its transactional producer (KIP-447)."""

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
