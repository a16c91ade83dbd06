"""DescribeDelegationToken (41): tokens, with their secrets, for those who may see them (KIP-48).

v1 throttled like v0 · v2 flexible
"""

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode, KafkaError
from kafkalike.protocol.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from kafkalike.security.principal import KafkaPrincipal
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.token_requests import may_ask_for_tokens
from kafkalike.zk.znodes import TokenInformation


@api(ApiKey.DESCRIBE_DELEGATION_TOKEN, versions="0-2")
async def handle(
    context: RequestContext, request: DescribeDelegationTokenRequest
) -> DescribeDelegationTokenResponse:
    """Tell the tokens that the named own or may renew; no names (null) means all."""
    if not may_ask_for_tokens(context):
        return DescribeDelegationTokenResponse(
            error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        )
    owners = None
    if request.owners is not None:
        owners = [KafkaPrincipal(o.principal_type, o.principal_name) for o in request.owners]
    manager = context.broker.security.token_manager
    try:
        tokens = manager.described(owners)
        return DescribeDelegationTokenResponse(
            tokens=[_described(token, manager.hmac_of(token.token_id)) for token in tokens]
        )
    except KafkaError as error:
        return DescribeDelegationTokenResponse(error_code=error.code)


def _described(token: TokenInformation, secret: bytes) -> DescribedDelegationToken:
    owner = KafkaPrincipal.parse(token.owner)
    return DescribedDelegationToken(
        principal_type=owner.principal_type,
        principal_name=owner.name,
        issue_timestamp=token.issue_timestamp_ms,
        expiry_timestamp=token.expiry_timestamp_ms,
        max_timestamp=token.max_timestamp_ms,
        token_id=token.token_id,
        hmac=secret,
        renewers=[
            DescribedDelegationTokenRenewer(
                principal_type=renewer.principal_type, principal_name=renewer.name
            )
            for renewer in map(KafkaPrincipal.parse, token.renewers)
        ],
    )
