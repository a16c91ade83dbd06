# Written by `python -m kafkalike.protocol.stubs` from the table of this module.
# Arrays of structs are lists. Other arrays are lists when decoded and may be any sequence when
# encoded. Records are memoryviews when decoded and may be anything with a length when encoded.
from collections.abc import Sequence, Sized
from typing import Any

from kafkalike.protocol.schema import Message
from kafkalike.protocol.structs import Struct

TABLE: str

class DescribeDelegationTokenOwner(Struct):
    principal_type: str
    principal_name: str
    def __init__(
        self,
        *,
        principal_type: str = ...,
        principal_name: str = ...,
    ) -> None: ...

class DescribeDelegationTokenRequest(Message):
    owners: list[DescribeDelegationTokenOwner] | None
    def __init__(
        self,
        *,
        owners: list[DescribeDelegationTokenOwner] | None = ...,
    ) -> None: ...

class DescribedDelegationTokenRenewer(Struct):
    principal_type: str
    principal_name: str
    def __init__(
        self,
        *,
        principal_type: str = ...,
        principal_name: str = ...,
    ) -> None: ...

class DescribedDelegationToken(Struct):
    principal_type: str
    principal_name: str
    issue_timestamp: int
    expiry_timestamp: int
    max_timestamp: int
    token_id: str
    hmac: bytes
    renewers: list[DescribedDelegationTokenRenewer]
    def __init__(
        self,
        *,
        principal_type: str = ...,
        principal_name: str = ...,
        issue_timestamp: int = ...,
        expiry_timestamp: int = ...,
        max_timestamp: int = ...,
        token_id: str = ...,
        hmac: bytes = ...,
        renewers: list[DescribedDelegationTokenRenewer] = ...,
    ) -> None: ...

class DescribeDelegationTokenResponse(Message):
    error_code: int
    tokens: list[DescribedDelegationToken]
    throttle_time_ms: int
    def __init__(
        self,
        *,
        error_code: int = ...,
        tokens: list[DescribedDelegationToken] = ...,
        throttle_time_ms: int = ...,
    ) -> None: ...
