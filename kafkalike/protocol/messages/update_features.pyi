# Written by `python -m kafkalike.protocol.stubs` from the table of this module.
# Arrays of structs are lists. Other arrays are lists when decoded and may be any sequence when
# encoded. Records are memoryviews when decoded and may be anything with a length when encoded.
from collections.abc import Sequence, Sized
from typing import Any

from kafkalike.protocol.schema import Message
from kafkalike.protocol.structs import Struct

TABLE: str

class FeatureUpdateKey(Struct):
    feature: str
    max_version_level: int
    allow_downgrade: bool
    def __init__(
        self,
        *,
        feature: str = ...,
        max_version_level: int = ...,
        allow_downgrade: bool = ...,
    ) -> None: ...

class UpdateFeaturesRequest(Message):
    timeout_ms: int
    feature_updates: list[FeatureUpdateKey]
    def __init__(
        self,
        *,
        timeout_ms: int = ...,
        feature_updates: list[FeatureUpdateKey] = ...,
    ) -> None: ...

class UpdatableFeatureResult(Struct):
    feature: str
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        feature: str = ...,
        error_code: int = ...,
        error_message: str | None = ...,
    ) -> None: ...

class UpdateFeaturesResponse(Message):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    results: list[UpdatableFeatureResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        results: list[UpdatableFeatureResult] = ...,
    ) -> None: ...
