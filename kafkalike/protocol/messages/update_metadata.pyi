# Written by `python -m kafkalike.protocol.stubs` from the table of this module.
# Arrays of structs are lists. Other arrays are lists when decoded and may be any sequence when
# encoded. Records are memoryviews when decoded and may be anything with a length when encoded.
from collections.abc import Sequence, Sized
from typing import Any

from kafkalike.protocol.schema import Message
from kafkalike.protocol.structs import Struct

TABLE: str

class UpdateMetadataPartitionState(Struct):
    topic_name: str
    partition_index: int
    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: Sequence[int]
    zk_version: int
    replicas: Sequence[int]
    offline_replicas: Sequence[int]
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
        offline_replicas: Sequence[int] = ...,
    ) -> None: ...

class UpdateMetadataTopicState(Struct):
    topic_name: str
    topic_id: bytes
    partition_states: list[UpdateMetadataPartitionState]
    def __init__(
        self,
        *,
        topic_name: str = ...,
        topic_id: bytes = ...,
        partition_states: list[UpdateMetadataPartitionState] = ...,
    ) -> None: ...

class UpdateMetadataEndpoint(Struct):
    port: int
    host: str
    listener: str
    security_protocol: int
    def __init__(
        self,
        *,
        port: int = ...,
        host: str = ...,
        listener: str = ...,
        security_protocol: int = ...,
    ) -> None: ...

class UpdateMetadataBroker(Struct):
    id: int
    v0_host: str
    v0_port: int
    endpoints: list[UpdateMetadataEndpoint]
    rack: str | None
    def __init__(
        self,
        *,
        id: int = ...,
        v0_host: str = ...,
        v0_port: int = ...,
        endpoints: list[UpdateMetadataEndpoint] = ...,
        rack: str | None = ...,
    ) -> None: ...

class UpdateMetadataRequest(Message):
    controller_id: int
    controller_epoch: int
    broker_epoch: int
    ungrouped_partition_states: list[UpdateMetadataPartitionState]
    topic_states: list[UpdateMetadataTopicState]
    live_brokers: list[UpdateMetadataBroker]
    def __init__(
        self,
        *,
        controller_id: int = ...,
        controller_epoch: int = ...,
        broker_epoch: int = ...,
        ungrouped_partition_states: list[UpdateMetadataPartitionState] = ...,
        topic_states: list[UpdateMetadataTopicState] = ...,
        live_brokers: list[UpdateMetadataBroker] = ...,
    ) -> None: ...

class UpdateMetadataResponse(Message):
    error_code: int
    def __init__(
        self,
        *,
        error_code: int = ...,
    ) -> None: ...
