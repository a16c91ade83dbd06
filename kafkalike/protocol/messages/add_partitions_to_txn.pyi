# Written by `python -m kafkalike.protocol.stubs` from the table of this module.
# Arrays of structs are lists. Other arrays are lists when decoded and may be any sequence when
# encoded. Records are memoryviews when decoded and may be anything with a length when encoded.
from collections.abc import Sequence, Sized
from typing import Any

from kafkalike.protocol.schema import Message
from kafkalike.protocol.structs import Struct

TABLE: str

class AddPartitionsToTxnTopic(Struct):
    name: str
    partitions: Sequence[int]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: Sequence[int] = ...,
    ) -> None: ...

class AddPartitionsToTxnRequest(Message):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    topics: list[AddPartitionsToTxnTopic]
    def __init__(
        self,
        *,
        transactional_id: str = ...,
        producer_id: int = ...,
        producer_epoch: int = ...,
        topics: list[AddPartitionsToTxnTopic] = ...,
    ) -> None: ...

class AddPartitionsToTxnPartitionResult(Struct):
    partition_index: int
    error_code: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
    ) -> None: ...

class AddPartitionsToTxnTopicResult(Struct):
    name: str
    results: list[AddPartitionsToTxnPartitionResult]
    def __init__(
        self,
        *,
        name: str = ...,
        results: list[AddPartitionsToTxnPartitionResult] = ...,
    ) -> None: ...

class AddPartitionsToTxnResponse(Message):
    throttle_time_ms: int
    results: list[AddPartitionsToTxnTopicResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        results: list[AddPartitionsToTxnTopicResult] = ...,
    ) -> None: ...
