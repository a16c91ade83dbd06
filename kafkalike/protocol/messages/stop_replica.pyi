# Written by `python -m kafkalike.protocol.stubs` from the table of this module.
# Arrays of structs are lists. Other arrays are lists when decoded and may be any sequence when
# encoded. Records are memoryviews when decoded and may be anything with a length when encoded.
from collections.abc import Sequence, Sized
from typing import Any

from kafkalike.protocol.schema import Message
from kafkalike.protocol.structs import Struct

TABLE: str

class StopReplicaPartitionV0(Struct):
    topic_name: str
    partition_index: int
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partition_index: int = ...,
    ) -> None: ...

class StopReplicaTopicV1(Struct):
    name: str
    partition_indexes: Sequence[int]
    def __init__(
        self,
        *,
        name: str = ...,
        partition_indexes: Sequence[int] = ...,
    ) -> None: ...

class StopReplicaPartitionState(Struct):
    partition_index: int
    leader_epoch: int
    delete_partition: bool
    def __init__(
        self,
        *,
        partition_index: int = ...,
        leader_epoch: int = ...,
        delete_partition: bool = ...,
    ) -> None: ...

class StopReplicaTopicState(Struct):
    topic_name: str
    partition_states: list[StopReplicaPartitionState]
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partition_states: list[StopReplicaPartitionState] = ...,
    ) -> None: ...

class StopReplicaRequest(Message):
    controller_id: int
    controller_epoch: int
    broker_epoch: int
    delete_partitions: bool
    ungrouped_partitions: list[StopReplicaPartitionV0]
    topics: list[StopReplicaTopicV1]
    topic_states: list[StopReplicaTopicState]
    def __init__(
        self,
        *,
        controller_id: int = ...,
        controller_epoch: int = ...,
        broker_epoch: int = ...,
        delete_partitions: bool = ...,
        ungrouped_partitions: list[StopReplicaPartitionV0] = ...,
        topics: list[StopReplicaTopicV1] = ...,
        topic_states: list[StopReplicaTopicState] = ...,
    ) -> None: ...

class StopReplicaPartitionError(Struct):
    topic_name: str
    partition_index: int
    error_code: int
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partition_index: int = ...,
        error_code: int = ...,
    ) -> None: ...

class StopReplicaResponse(Message):
    error_code: int
    partition_errors: list[StopReplicaPartitionError]
    def __init__(
        self,
        *,
        error_code: int = ...,
        partition_errors: list[StopReplicaPartitionError] = ...,
    ) -> None: ...
