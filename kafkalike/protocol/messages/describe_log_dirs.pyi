# Written by `python -m kafkalike.protocol.stubs` from the table of this module.
# Arrays of structs are lists. Other arrays are lists when decoded and may be any sequence when
# encoded. Records are memoryviews when decoded and may be anything with a length when encoded.
from collections.abc import Sequence, Sized
from typing import Any

from kafkalike.protocol.schema import Message
from kafkalike.protocol.structs import Struct

TABLE: str

class DescribableLogDirTopic(Struct):
    topic: str
    partition_index: Sequence[int]
    def __init__(
        self,
        *,
        topic: str = ...,
        partition_index: Sequence[int] = ...,
    ) -> None: ...

class DescribeLogDirsRequest(Message):
    topics: list[DescribableLogDirTopic] | None
    def __init__(
        self,
        *,
        topics: list[DescribableLogDirTopic] | None = ...,
    ) -> None: ...

class DescribeLogDirsPartition(Struct):
    partition_index: int
    partition_size: int
    offset_lag: int
    is_future_key: bool
    def __init__(
        self,
        *,
        partition_index: int = ...,
        partition_size: int = ...,
        offset_lag: int = ...,
        is_future_key: bool = ...,
    ) -> None: ...

class DescribeLogDirsTopic(Struct):
    name: str
    partitions: list[DescribeLogDirsPartition]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[DescribeLogDirsPartition] = ...,
    ) -> None: ...

class DescribeLogDirsResult(Struct):
    error_code: int
    log_dir: str
    topics: list[DescribeLogDirsTopic]
    def __init__(
        self,
        *,
        error_code: int = ...,
        log_dir: str = ...,
        topics: list[DescribeLogDirsTopic] = ...,
    ) -> None: ...

class DescribeLogDirsResponse(Message):
    throttle_time_ms: int
    results: list[DescribeLogDirsResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        results: list[DescribeLogDirsResult] = ...,
    ) -> None: ...
