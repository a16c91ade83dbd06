"""ExpireDelegationToken (40): a token ends, now or after a time (KIP-48).

v1 throttled like v0 · v2 flexible
"""

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode, KafkaError
from kafkalike.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.token_requests import may_ask_for_tokens

_NO_TIME = -1


@api(ApiKey.EXPIRE_DELEGATION_TOKEN, versions="0-2")
async def handle(
    context: RequestContext, request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse:
    """Let the token end."""
    if not may_ask_for_tokens(context):
        return ExpireDelegationTokenResponse(
            error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, expiry_timestamp_ms=_NO_TIME
        )
    try:
        expiry_ms = await context.broker.security.token_manager.expire(
            context.principal, bytes(request.hmac), request.expiry_time_period_ms
        )
    except KafkaError as error:
        return ExpireDelegationTokenResponse(error_code=error.code, expiry_timestamp_ms=_NO_TIME)
    return ExpireDelegationTokenResponse(expiry_timestamp_ms=expiry_ms)
