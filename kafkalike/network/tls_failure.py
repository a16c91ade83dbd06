"""Why TLS failed, in words, and the errors of authentication."""

import ssl
from typing import Final

from twisted.python.failure import Failure

from kafkalike.protocol.errors import (
    IllegalSaslStateError,
    KafkaError,
    SaslAuthenticationError,
    UnsupportedSaslMechanismError,
)


class SslAuthenticationError(KafkaError):
    """The TLS handshake failed: one side does not trust the other's certificate, or has none."""


AUTHENTICATION_ERRORS: Final = (
    IllegalSaslStateError,
    SaslAuthenticationError,
    SslAuthenticationError,
    UnsupportedSaslMechanismError,
)
"""What trying again does not heal: somebody must look at the settings."""


def tls_failure(failure: Failure) -> str | None:
    """Return the reason if it was TLS that failed, None if the connection just ended."""
    error = failure.value
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    if isinstance(error, ssl.SSLError):
        # TLSV1_ALERT_UNKNOWN_CA and the like: the other side's reason.
        return (error.reason or str(error)).replace("_", " ").lower()
    return None
