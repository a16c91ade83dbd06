"""Who may ask about delegation tokens: who has proved who it is, and not by such a token itself."""

from kafkalike.security.principal import ANONYMOUS
from kafkalike.server.api.context import RequestContext


def may_ask_for_tokens(context: RequestContext) -> bool:
    """Whether the client came by SASL with its own credentials, or by TLS with a certificate."""
    protocol = context.broker.config.security_protocols.get(context.listener_name, "PLAINTEXT")
    if protocol == "PLAINTEXT" or context.principal.is_token_authenticated:
        return False
    return protocol != "SSL" or context.principal != ANONYMOUS
