# Written by `python -m kafkalike.protocol.stubs` from the table of this module.
# Arrays of structs are lists. Other arrays are lists when decoded and may be any sequence when
# encoded. Records are memoryviews when decoded and may be anything with a length when encoded.
from collections.abc import Sequence, Sized
from typing import Any

from kafkalike.protocol.schema import Message
from kafkalike.protocol.structs import Struct

TABLE: str

class ListPartitionReassignmentsTopics(Struct):
    name: str
    partition_indexes: Sequence[int]
    def __init__(
        self,
        *,
        name: str = ...,
        partition_indexes: Sequence[int] = ...,
    ) -> None: ...

class ListPartitionReassignmentsRequest(Message):
    timeout_ms: int
    topics: list[ListPartitionReassignmentsTopics] | None
    def __init__(
        self,
        *,
        timeout_ms: int = ...,
        topics: list[ListPartitionReassignmentsTopics] | None = ...,
    ) -> None: ...

class OngoingPartitionReassignment(Struct):
    partition_index: int
    replicas: Sequence[int]
    adding_replicas: Sequence[int]
    removing_replicas: Sequence[int]
    def __init__(
        self,
        *,
        partition_index: int = ...,
        replicas: Sequence[int] = ...,
        adding_replicas: Sequence[int] = ...,
        removing_replicas: Sequence[int] = ...,
    ) -> None: ...

class OngoingTopicReassignment(Struct):
    name: str
    partitions: list[OngoingPartitionReassignment]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[OngoingPartitionReassignment] = ...,
    ) -> None: ...

class ListPartitionReassignmentsResponse(Message):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    topics: list[OngoingTopicReassignment]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        topics: list[OngoingTopicReassignment] = ...,
    ) -> None: ...
