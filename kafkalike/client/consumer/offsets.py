"""The values of a consumer's positions, with the names and fields of kafka-python's."""

from typing import Any, NamedTuple


class OffsetAndMetadata(NamedTuple):
    """A committed position: the offset to read next, a note, and the epoch it was read in."""

    offset: int
    metadata: str | None = ""
    leader_epoch: int = -1


def as_offset(given: Any) -> OffsetAndMetadata:
    """Read what a program gives as an offset: a number, or an object like kafka-python's."""
    if isinstance(given, int):
        return OffsetAndMetadata(given)
    epoch = getattr(given, "leader_epoch", -1)
    return OffsetAndMetadata(given.offset, given.metadata, -1 if epoch is None else epoch)


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
