# Written by `python -m kafkalike.protocol.stubs` from the table of this module.
# Arrays of structs are lists. Other arrays are lists when decoded and may be any sequence when
# encoded. Records are memoryviews when decoded and may be anything with a length when encoded.
from collections.abc import Sequence, Sized
from typing import Any

from kafkalike.protocol.schema import Message
from kafkalike.protocol.structs import Struct

TABLE: str

class TopicPartition(Struct):
    topic: str
    partitions: Sequence[int]
    def __init__(
        self,
        *,
        topic: str = ...,
        partitions: Sequence[int] = ...,
    ) -> None: ...

class ConsumerProtocolSubscription(Message):
    topics: Sequence[str]
    user_data: bytes | None
    owned_partitions: list[TopicPartition]
    def __init__(
        self,
        *,
        topics: Sequence[str] = ...,
        user_data: bytes | None = ...,
        owned_partitions: list[TopicPartition] = ...,
    ) -> None: ...

class ConsumerProtocolAssignment(Message):
    assigned_partitions: list[TopicPartition]
    user_data: bytes | None
    def __init__(
        self,
        *,
        assigned_partitions: list[TopicPartition] = ...,
        user_data: bytes | None = ...,
    ) -> None: ...
