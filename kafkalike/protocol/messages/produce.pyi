# Written by `python -m kafkalike.protocol.stubs` from the table of this module.
# Arrays of structs are lists. Other arrays are lists when decoded and may be any sequence when
# encoded. Records are memoryviews when decoded and may be anything with a length when encoded.
from collections.abc import Sequence, Sized
from typing import Any

from kafkalike.protocol.schema import Message
from kafkalike.protocol.structs import Struct

TABLE: str

class PartitionProduceData(Struct):
    index: int
    records: Any | None
    def __init__(
        self,
        *,
        index: int = ...,
        records: Sized | None = ...,
    ) -> None: ...

class TopicProduceData(Struct):
    name: str
    partition_data: list[PartitionProduceData]
    def __init__(
        self,
        *,
        name: str = ...,
        partition_data: list[PartitionProduceData] = ...,
    ) -> None: ...

class ProduceRequest(Message):
    transactional_id: str | None
    acks: int
    timeout_ms: int
    topic_data: list[TopicProduceData]
    def __init__(
        self,
        *,
        transactional_id: str | None = ...,
        acks: int = ...,
        timeout_ms: int = ...,
        topic_data: list[TopicProduceData] = ...,
    ) -> None: ...

class BatchIndexAndErrorMessage(Struct):
    batch_index: int
    batch_index_error_message: str | None
    def __init__(
        self,
        *,
        batch_index: int = ...,
        batch_index_error_message: str | None = ...,
    ) -> None: ...

class PartitionProduceResponse(Struct):
    index: int
    error_code: int
    base_offset: int
    log_append_time_ms: int
    log_start_offset: int
    record_errors: list[BatchIndexAndErrorMessage]
    error_message: str | None
    def __init__(
        self,
        *,
        index: int = ...,
        error_code: int = ...,
        base_offset: int = ...,
        log_append_time_ms: int = ...,
        log_start_offset: int = ...,
        record_errors: list[BatchIndexAndErrorMessage] = ...,
        error_message: str | None = ...,
    ) -> None: ...

class TopicProduceResponse(Struct):
    name: str
    partition_responses: list[PartitionProduceResponse]
    def __init__(
        self,
        *,
        name: str = ...,
        partition_responses: list[PartitionProduceResponse] = ...,
    ) -> None: ...

class ProduceResponse(Message):
    responses: list[TopicProduceResponse]
    throttle_time_ms: int
    def __init__(
        self,
        *,
        responses: list[TopicProduceResponse] = ...,
        throttle_time_ms: int = ...,
    ) -> None: ...
