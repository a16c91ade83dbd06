# Written by `python -m kafkalike.protocol.stubs` from the table of this module.
# Arrays of structs are lists. Other arrays are lists when decoded and may be any sequence when
# encoded. Records are memoryviews when decoded and may be anything with a length when encoded.
from collections.abc import Sequence, Sized
from typing import Any

from kafkalike.protocol.schema import Message
from kafkalike.protocol.structs import Struct

TABLE: str

class ReassignablePartition(Struct):
    partition_index: int
    replicas: Sequence[int] | None
    def __init__(
        self,
        *,
        partition_index: int = ...,
        replicas: Sequence[int] | None = ...,
    ) -> None: ...

class ReassignableTopic(Struct):
    name: str
    partitions: list[ReassignablePartition]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[ReassignablePartition] = ...,
    ) -> None: ...

class AlterPartitionReassignmentsRequest(Message):
    timeout_ms: int
    topics: list[ReassignableTopic]
    def __init__(
        self,
        *,
        timeout_ms: int = ...,
        topics: list[ReassignableTopic] = ...,
    ) -> None: ...

class ReassignablePartitionResponse(Struct):
    partition_index: int
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
    ) -> None: ...

class ReassignableTopicResponse(Struct):
    name: str
    partitions: list[ReassignablePartitionResponse]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[ReassignablePartitionResponse] = ...,
    ) -> None: ...

class AlterPartitionReassignmentsResponse(Message):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    responses: list[ReassignableTopicResponse]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        responses: list[ReassignableTopicResponse] = ...,
    ) -> None: ...
