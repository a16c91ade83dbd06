"""SaslHandshake (17): answered before the handlers where a listener has SASL; here it has no place.

It comes here on a listener without SASL, or again on a connection that need not authenticate anew.
"""

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api


@api(ApiKey.SASL_HANDSHAKE, versions="0-1")
async def handle(context: RequestContext, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    """Refuse."""
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
