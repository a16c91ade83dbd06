"""The credentials that SCRAM checks: users from `/config/users`, delegation tokens (KIP-48).

Kafka's `CredentialProvider` with its caches: users by mechanism and name, tokens by id and HMAC.
"""

from base64 import b64encode
from collections.abc import Mapping

from twisted.logger import Logger

from kafkalike.security.sasl.scram import (
    MECHANISMS,
    ScramCredential,
    ScramMechanism,
    parse_credential,
)
from kafkalike.security.sasl.scram_server import TokenCredential
from kafkalike.zk.znodes import TokenInformation

log = Logger()


class TokenCache:
    """Delegation tokens that hold now, as far as this broker has heard."""

    def __init__(self) -> None:
        self._tokens: dict[str, TokenInformation] = {}
        self._ids_by_hmac: dict[str, str] = {}
        self._hmacs: dict[str, str] = {}
        self._credentials: dict[str, Mapping[ScramMechanism, ScramCredential]] = {}

    @property
    def tokens(self) -> list[TokenInformation]:
        """All tokens."""
        return list(self._tokens.values())

    def update(
        self,
        token: TokenInformation,
        hmac: bytes,
        credentials: Mapping[ScramMechanism, ScramCredential],
    ) -> None:
        """Take a new token, or new dates of a known one."""
        text = b64encode(hmac).decode()
        self._tokens[token.token_id] = token
        self._ids_by_hmac[text] = token.token_id
        self._hmacs[token.token_id] = text
        self._credentials[token.token_id] = credentials

    def remove(self, token_id: str) -> None:
        """Forget a token."""
        self._tokens.pop(token_id, None)
        self._credentials.pop(token_id, None)
        self._ids_by_hmac.pop(self._hmacs.pop(token_id, ""), None)

    def with_hmac(self, hmac: bytes) -> TokenInformation | None:
        """Find a token by the secret that its owner has."""
        token_id = self._ids_by_hmac.get(b64encode(hmac).decode())
        return None if token_id is None else self._tokens.get(token_id)

    def credentials(self, token_id: str) -> Mapping[ScramMechanism, ScramCredential] | None:
        """Return the credentials of a token that is known already."""
        return self._credentials.get(token_id)

    def find(self, token_id: str) -> TokenInformation | None:
        """Find a token by its id."""
        return self._tokens.get(token_id)


class CredentialProvider:
    """Where the SCRAM servers of all listeners look."""

    def __init__(self) -> None:
        self.tokens = TokenCache()
        self._users: dict[ScramMechanism, dict[str, ScramCredential]] = {
            mechanism: {} for mechanism in ScramMechanism
        }

    def update_user(self, name: str, config: Mapping[str, str]) -> None:
        """Take the credentials of a user from the user's configs in ZooKeeper."""
        for mechanism_name, mechanism in MECHANISMS.items():
            text = config.get(mechanism_name)
            try:
                credential = None if text is None else parse_credential(text)
            except ValueError:
                log.error(
                    "the {mechanism} credential of {user} in ZooKeeper is not valid",
                    mechanism=mechanism_name,
                    user=name,
                )
                credential = None
            if credential is None:
                self._users[mechanism].pop(name, None)
            else:
                self._users[mechanism][name] = credential

    def user(self, mechanism: ScramMechanism, name: str) -> ScramCredential | None:
        """Find a user's credential."""
        return self._users[mechanism].get(name)

    def token(self, mechanism: ScramMechanism, token_id: str) -> TokenCredential | None:
        """Find a delegation token's credential."""
        token, credentials = self.tokens.find(token_id), self.tokens.credentials(token_id)
        if token is None or credentials is None:
            return None
        owner = token.owner.partition(":")[2]
        return TokenCredential(owner, token.expiry_timestamp_ms, credentials[mechanism])
