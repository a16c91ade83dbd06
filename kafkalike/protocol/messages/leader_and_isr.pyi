# Written by `python -m kafkalike.protocol.stubs` from the table of this module.
# Arrays of structs are lists. Other arrays are lists when decoded and may be any sequence when
# encoded. Records are memoryviews when decoded and may be anything with a length when encoded.
from collections.abc import Sequence, Sized
from typing import Any

from kafkalike.protocol.schema import Message
from kafkalike.protocol.structs import Struct

TABLE: str

class LeaderAndIsrPartitionState(Struct):
    topic_name: str
    partition_index: int
    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: Sequence[int]
    zk_version: int
    replicas: Sequence[int]
    adding_replicas: Sequence[int]
    removing_replicas: Sequence[int]
    is_new: bool
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partition_index: int = ...,
        controller_epoch: int = ...,
        leader: int = ...,
        leader_epoch: int = ...,
        isr: Sequence[int] = ...,
        zk_version: int = ...,
        replicas: Sequence[int] = ...,
        adding_replicas: Sequence[int] = ...,
        removing_replicas: Sequence[int] = ...,
        is_new: bool = ...,
    ) -> None: ...

class LeaderAndIsrTopicState(Struct):
    topic_name: str
    topic_id: bytes
    partition_states: list[LeaderAndIsrPartitionState]
    def __init__(
        self,
        *,
        topic_name: str = ...,
        topic_id: bytes = ...,
        partition_states: list[LeaderAndIsrPartitionState] = ...,
    ) -> None: ...

class LeaderAndIsrLiveLeader(Struct):
    broker_id: int
    host_name: str
    port: int
    def __init__(
        self,
        *,
        broker_id: int = ...,
        host_name: str = ...,
        port: int = ...,
    ) -> None: ...

class LeaderAndIsrRequest(Message):
    controller_id: int
    controller_epoch: int
    broker_epoch: int
    type: int
    ungrouped_partition_states: list[LeaderAndIsrPartitionState]
    topic_states: list[LeaderAndIsrTopicState]
    live_leaders: list[LeaderAndIsrLiveLeader]
    def __init__(
        self,
        *,
        controller_id: int = ...,
        controller_epoch: int = ...,
        broker_epoch: int = ...,
        type: int = ...,
        ungrouped_partition_states: list[LeaderAndIsrPartitionState] = ...,
        topic_states: list[LeaderAndIsrTopicState] = ...,
        live_leaders: list[LeaderAndIsrLiveLeader] = ...,
    ) -> None: ...

class LeaderAndIsrPartitionError(Struct):
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

class LeaderAndIsrTopicError(Struct):
    topic_id: bytes
    partition_errors: list[LeaderAndIsrPartitionError]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partition_errors: list[LeaderAndIsrPartitionError] = ...,
    ) -> None: ...

class LeaderAndIsrResponse(Message):
    error_code: int
    partition_errors: list[LeaderAndIsrPartitionError]
    topics: list[LeaderAndIsrTopicError]
    def __init__(
        self,
        *,
        error_code: int = ...,
        partition_errors: list[LeaderAndIsrPartitionError] = ...,
        topics: list[LeaderAndIsrTopicError] = ...,
    ) -> None: ...
