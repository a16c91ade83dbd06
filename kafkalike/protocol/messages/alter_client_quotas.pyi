# Written by `python -m kafkalike.protocol.stubs` from the table of this module.
# Arrays of structs are lists. Other arrays are lists when decoded and may be any sequence when
# encoded. Records are memoryviews when decoded and may be anything with a length when encoded.
from collections.abc import Sequence, Sized
from typing import Any

from kafkalike.protocol.schema import Message
from kafkalike.protocol.structs import Struct

TABLE: str

class EntityData(Struct):
    entity_type: str
    entity_name: str | None
    def __init__(
        self,
        *,
        entity_type: str = ...,
        entity_name: str | None = ...,
    ) -> None: ...

class OpData(Struct):
    key: str
    value: float
    remove: bool
    def __init__(
        self,
        *,
        key: str = ...,
        value: float = ...,
        remove: bool = ...,
    ) -> None: ...

class AlterClientQuotasRequestEntryData(Struct):
    entity: list[EntityData]
    ops: list[OpData]
    def __init__(
        self,
        *,
        entity: list[EntityData] = ...,
        ops: list[OpData] = ...,
    ) -> None: ...

class AlterClientQuotasRequest(Message):
    entries: list[AlterClientQuotasRequestEntryData]
    validate_only: bool
    def __init__(
        self,
        *,
        entries: list[AlterClientQuotasRequestEntryData] = ...,
        validate_only: bool = ...,
    ) -> None: ...

class AlterClientQuotasResponseEntryData(Struct):
    error_code: int
    error_message: str | None
    entity: list[EntityData]
    def __init__(
        self,
        *,
        error_code: int = ...,
        error_message: str | None = ...,
        entity: list[EntityData] = ...,
    ) -> None: ...

class AlterClientQuotasResponse(Message):
    throttle_time_ms: int
    entries: list[AlterClientQuotasResponseEntryData]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        entries: list[AlterClientQuotasResponseEntryData] = ...,
    ) -> None: ...
