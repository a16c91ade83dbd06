"""Delegation tokens: made, renewed and ended here, kept in ZooKeeper, known to all brokers.

KIP-48. A token's secret is never stored: it is the HMAC of the token's id under
`delegation.token.secret.key`, which all brokers share. With it as password the token's bearer logs
in by SCRAM, so each token has SCRAM credentials; stretching them is done in a thread.
"""

import hmac
import os
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import Final

from twisted.logger import Logger

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.protocol.errors import (
    DelegationTokenDisabledError,
    DelegationTokenExpiredError,
    DelegationTokenNotFoundError,
    DelegationTokenOwnerMismatchError,
)
from kafkalike.security.credentials import TokenCache
from kafkalike.security.principal import KafkaPrincipal
from kafkalike.security.sasl.scram import ScramCredential, ScramMechanism, generate_credential
from kafkalike.utils.blocking import RunBlocking
from kafkalike.utils.time import Time
from kafkalike.zk.change_notification import ZkNodeChangeNotificationListener
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.errors import ZkDataError
from kafkalike.zk.znodes import DelegationTokenChangeZNode, TokenInformation

log = Logger()

_HASH: Final = "sha512"


class DelegationTokenManager:
    """All that is done with tokens; `startup` before listeners open, `shutdown` at the end."""

    def __init__(
        self,
        config: Callable[[], BrokerConfig],
        tokens: TokenCache,
        zk: KafkaZkClient,
        time: Time,
        run_blocking: RunBlocking,
    ) -> None:
        self._config = config
        self._tokens = tokens
        self._zk = zk
        self._time = time
        self._run_blocking = run_blocking
        self._listener = ZkNodeChangeNotificationListener(
            zk,
            DelegationTokenChangeZNode.ROOT,
            DelegationTokenChangeZNode.PREFIX,
            self._process_change,
            time,
        )

    @property
    def is_enabled(self) -> bool:
        """Whether there is a secret to make tokens with."""
        return self._config().delegation_token_key is not None

    async def startup(self) -> None:
        """Read the tokens that there are, and hear of changes from now on."""
        if not self.is_enabled:
            return
        await self._zk.create_delegation_token_paths()
        for token_id in await self._zk.get_delegation_token_ids():
            try:
                await self._read(token_id)
            except ZkDataError as error:
                log.error("delegation token {id}: {error}", id=token_id, error=error)
        self._listener.init()

    def shutdown(self) -> None:
        """Hear no more of changes."""
        if self.is_enabled:
            self._listener.close()

    def hmac_of(self, token_id: str) -> bytes:
        """Return a token's secret."""
        secret = self._config().delegation_token_key
        if secret is None:
            raise DelegationTokenDisabledError
        return hmac.digest(secret.value.encode(), token_id.encode(), _HASH)

    def described(self, owners: Sequence[KafkaPrincipal] | None) -> list[TokenInformation]:
        """Return the tokens that these own or may renew; all if no owners are named."""
        self._check_enabled()
        if owners is None:
            return self._tokens.tokens
        return [
            token
            for token in self._tokens.tokens
            if any(_is_owner_or_renewer(token, owner) for owner in owners)
        ]

    async def create(
        self, owner: KafkaPrincipal, renewers: Sequence[KafkaPrincipal], max_lifetime_ms: int
    ) -> TokenInformation:
        """Make a token."""
        self._check_enabled()
        config, now_ms = self._config(), self._time.now_ms()
        longest_ms = config.delegation_token_max_lifetime_ms
        lifetime_ms = longest_ms if max_lifetime_ms <= 0 else min(max_lifetime_ms, longest_ms)
        token = TokenInformation(
            token_id=urlsafe_b64encode(os.urandom(16)).rstrip(b"=").decode(),
            owner=str(owner),
            renewers=tuple(map(str, renewers)),
            issue_timestamp_ms=now_ms,
            max_timestamp_ms=now_ms + lifetime_ms,
            expiry_timestamp_ms=now_ms + min(lifetime_ms, config.delegation_token_expiry_time_ms),
        )
        await self._write(token)
        log.info("created delegation token {id} for {owner}", id=token.token_id, owner=owner)
        return token

    async def renew(self, principal: KafkaPrincipal, secret: bytes, period_ms: int) -> int:
        """Let a token live longer; return when it expires."""
        token = self._own_token(principal, secret)
        if period_ms < 0:
            period_ms = self._config().delegation_token_expiry_time_ms
        return await self._expire_at(token, self._time.now_ms() + period_ms)

    async def expire(self, principal: KafkaPrincipal, secret: bytes, period_ms: int) -> int:
        """Let a token end, at once or after a time; return when."""
        token = self._own_token(principal, secret)
        now_ms = self._time.now_ms()
        if period_ms < 0:
            await self._remove(token, "its owner or a renewer ended it")
            return now_ms
        return await self._expire_at(token, now_ms + period_ms)

    async def remove_expired(self) -> None:
        """Delete the tokens whose time is over."""
        now_ms = self._time.now_ms()
        for token in self._tokens.tokens:
            if _is_expired(token, now_ms):
                await self._remove(token, "its time is over")

    def _own_token(self, principal: KafkaPrincipal, secret: bytes) -> TokenInformation:
        self._check_enabled()
        token = self._tokens.with_hmac(secret)
        if token is None:
            raise DelegationTokenNotFoundError
        if not _is_owner_or_renewer(token, principal):
            raise DelegationTokenOwnerMismatchError
        if _is_expired(token, self._time.now_ms()):
            raise DelegationTokenExpiredError
        return token

    async def _expire_at(self, token: TokenInformation, time_ms: int) -> int:
        expiry_ms = min(token.max_timestamp_ms, time_ms)
        await self._write(
            TokenInformation(
                token_id=token.token_id,
                owner=token.owner,
                renewers=token.renewers,
                issue_timestamp_ms=token.issue_timestamp_ms,
                max_timestamp_ms=token.max_timestamp_ms,
                expiry_timestamp_ms=expiry_ms,
            )
        )
        log.info("delegation token {id} expires at {ms} ms", id=token.token_id, ms=expiry_ms)
        return expiry_ms

    async def _write(self, token: TokenInformation) -> None:
        await self._zk.set_or_create_delegation_token(token)
        await self._cache(token)
        await self._zk.create_token_change_notification(token.token_id)

    async def _remove(self, token: TokenInformation, why: str) -> None:
        await self._zk.delete_delegation_token(token.token_id)
        self._tokens.remove(token.token_id)
        await self._zk.create_token_change_notification(token.token_id)
        log.info(
            "delegation token {id} of {owner} is gone: {why}",
            id=token.token_id,
            owner=token.owner,
            why=why,
        )

    async def _process_change(self, data: bytes) -> None:
        await self._read(DelegationTokenChangeZNode.decode(data))

    async def _read(self, token_id: str) -> None:
        token = await self._zk.get_delegation_token_info(token_id)
        if token is None:
            self._tokens.remove(token_id)
        else:
            await self._cache(token)

    async def _cache(self, token: TokenInformation) -> None:
        secret = self.hmac_of(token.token_id)
        credentials = self._tokens.credentials(token.token_id)
        if credentials is None:
            credentials = await self._run_blocking(_credentials, secret)
        self._tokens.update(token, secret, credentials)

    def _check_enabled(self) -> None:
        if not self.is_enabled:
            raise DelegationTokenDisabledError


def _credentials(secret: bytes) -> dict[ScramMechanism, ScramCredential]:
    password = b64encode(secret).decode()
    return {mechanism: generate_credential(mechanism, password) for mechanism in ScramMechanism}


def _is_owner_or_renewer(token: TokenInformation, principal: KafkaPrincipal) -> bool:
    return str(principal) == token.owner or str(principal) in token.renewers


def _is_expired(token: TokenInformation, now_ms: int) -> bool:
    return token.max_timestamp_ms < now_ms or token.expiry_timestamp_ms < now_ms
