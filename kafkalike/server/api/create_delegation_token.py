"""CreateDelegationToken (38): a token for who asks (KIP-48).

v1 throttled like v0 · v2 flexible
"""

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode, KafkaError
from kafkalike.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from kafkalike.security.principal import USER_TYPE, KafkaPrincipal
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.token_requests import may_ask_for_tokens

_NO_TIME = -1


@api(ApiKey.CREATE_DELEGATION_TOKEN, versions="0-2")
async def handle(
    context: RequestContext, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse:
    """Make a token; who came by one gets none."""
    if not may_ask_for_tokens(context):
        return _refusal(context, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    renewers = [KafkaPrincipal(r.principal_type, r.principal_name) for r in request.renewers]
    if any(renewer.principal_type != USER_TYPE for renewer in renewers):
        return _refusal(context, ErrorCode.INVALID_PRINCIPAL_TYPE)
    manager = context.broker.security.token_manager
    try:
        token = await manager.create(context.principal, renewers, request.max_lifetime_ms)
    except KafkaError as error:
        return _refusal(context, error.code)
    return CreateDelegationTokenResponse(
        principal_type=context.principal.principal_type,
        principal_name=context.principal.name,
        issue_timestamp_ms=token.issue_timestamp_ms,
        expiry_timestamp_ms=token.expiry_timestamp_ms,
        max_timestamp_ms=token.max_timestamp_ms,
        token_id=token.token_id,
        hmac=manager.hmac_of(token.token_id),
    )


def _refusal(context: RequestContext, code: ErrorCode) -> CreateDelegationTokenResponse:
    return CreateDelegationTokenResponse(
        error_code=code,
        principal_type=context.principal.principal_type,
        principal_name=context.principal.name,
        issue_timestamp_ms=_NO_TIME,
        expiry_timestamp_ms=_NO_TIME,
        max_timestamp_ms=_NO_TIME,
    )
