# Written by `python -m kafkalike.protocol.stubs` from the table of this module.
# Arrays of structs are lists. Other arrays are lists when decoded and may be any sequence when
# encoded. Records are memoryviews when decoded and may be anything with a length when encoded.
from collections.abc import Sequence, Sized
from typing import Any

from kafkalike.protocol.schema import Message
from kafkalike.protocol.structs import Struct

TABLE: str

class AlterIsrRequestPartitionData(Struct):
    partition_index: int
    leader_epoch: int
    new_isr: Sequence[int]
    current_isr_version: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        leader_epoch: int = ...,
        new_isr: Sequence[int] = ...,
        current_isr_version: int = ...,
    ) -> None: ...

class AlterIsrRequestTopicData(Struct):
    name: str
    partitions: list[AlterIsrRequestPartitionData]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[AlterIsrRequestPartitionData] = ...,
    ) -> None: ...

class AlterIsrRequest(Message):
    broker_id: int
    broker_epoch: int
    topics: list[AlterIsrRequestTopicData]
    def __init__(
        self,
        *,
        broker_id: int = ...,
        broker_epoch: int = ...,
        topics: list[AlterIsrRequestTopicData] = ...,
    ) -> None: ...

class AlterIsrResponsePartitionData(Struct):
    partition_index: int
    error_code: int
    leader_id: int
    leader_epoch: int
    isr: Sequence[int]
    current_isr_version: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        leader_id: int = ...,
        leader_epoch: int = ...,
        isr: Sequence[int] = ...,
        current_isr_version: int = ...,
    ) -> None: ...

class AlterIsrResponseTopicData(Struct):
    name: str
    partitions: list[AlterIsrResponsePartitionData]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[AlterIsrResponsePartitionData] = ...,
    ) -> None: ...

class AlterIsrResponse(Message):
    throttle_time_ms: int
    error_code: int
    topics: list[AlterIsrResponseTopicData]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        topics: list[AlterIsrResponseTopicData] = ...,
    ) -> None: ...
