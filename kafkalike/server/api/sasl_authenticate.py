"""SaslAuthenticate (36): answered before the handlers during authentication; here it has no place.

v1 session lifetime (KIP-368) · v2 flexible
"""

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api


@api(ApiKey.SASL_AUTHENTICATE, versions="0-2")
async def handle(
    context: RequestContext, request: SaslAuthenticateRequest
) -> SaslAuthenticateResponse:
    """Refuse."""
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate request received after successful authentication",
    )
