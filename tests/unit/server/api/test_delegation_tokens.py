"""Create, Renew, Expire and DescribeDelegationToken, at every version."""

from typing import Any

import pytest

from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
)
from kafkalike.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from kafkalike.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from kafkalike.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from kafkalike.security.principal import ANONYMOUS, KafkaPrincipal
from kafkalike.security.sasl.scram import ScramMechanism
from tests.support.secure_broker import ALICE, BOB, SecureBroker

SECRET = {"delegation.token.secret.key": "the key of all brokers"}
DAY_MS = 24 * 60 * 60 * 1000


@pytest.fixture
def broker() -> SecureBroker:
    return SecureBroker(SECRET)


def create(*renewers: KafkaPrincipal, max_lifetime_ms: int = -1) -> CreateDelegationTokenRequest:
    return CreateDelegationTokenRequest(
        renewers=[
            CreatableRenewers(principal_type=r.principal_type, principal_name=r.name)
            for r in renewers
        ],
        max_lifetime_ms=max_lifetime_ms,
    )


def describe(*owners: KafkaPrincipal) -> DescribeDelegationTokenRequest:
    asked = [
        DescribeDelegationTokenOwner(principal_type=o.principal_type, principal_name=o.name)
        for o in owners
    ]
    return DescribeDelegationTokenRequest(owners=asked or None)


def renew(token: Any, period_ms: int = -1) -> RenewDelegationTokenRequest:
    return RenewDelegationTokenRequest(hmac=bytes(token.hmac), renew_period_ms=period_ms)


def expire(token: Any, period_ms: int = -1) -> ExpireDelegationTokenRequest:
    return ExpireDelegationTokenRequest(hmac=bytes(token.hmac), expiry_time_period_ms=period_ms)


@pytest.mark.parametrize("version", range(3))
def test_token_lives_and_ends_at_every_version(broker: SecureBroker, version: int) -> None:
    token = broker.ask(create(BOB), version)
    assert (token.error_code, token.principal_name) == (0, "alice")
    assert token.expiry_timestamp_ms == token.issue_timestamp_ms + DAY_MS
    assert token.max_timestamp_ms == token.issue_timestamp_ms + 7 * DAY_MS
    (described,) = broker.ask(describe(ALICE), version).tokens
    assert (described.token_id, bytes(described.hmac)) == (token.token_id, bytes(token.hmac))
    assert [renewer.principal_name for renewer in described.renewers] == ["bob"]
    broker.clock.advance(60)
    renewed = broker.ask(renew(token), version)
    assert renewed.expiry_timestamp_ms == token.expiry_timestamp_ms + 60_000
    assert broker.ask(expire(token), version).error_code == 0
    assert broker.ask(describe(), version).tokens == []


def test_token_is_a_password_for_scram(broker: SecureBroker) -> None:
    token = broker.ask(create())
    for mechanism in ScramMechanism:
        credential = broker.security.credentials.token(mechanism, token.token_id)
        assert credential is not None
        assert credential.owner == "alice"


def test_no_token_outlives_its_longest_life(broker: SecureBroker) -> None:
    token = broker.ask(create(max_lifetime_ms=1000))
    assert token.expiry_timestamp_ms == token.max_timestamp_ms == token.issue_timestamp_ms + 1000
    assert broker.ask(renew(token, DAY_MS)).expiry_timestamp_ms == token.max_timestamp_ms


def test_who_may_renew_may_also_end_a_token_and_nobody_else(broker: SecureBroker) -> None:
    token = broker.ask(create(BOB))
    broker.principal = KafkaPrincipal("User", "mallory")
    for request in (renew(token), expire(token)):
        answer = broker.ask(request)
        assert answer.error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
        assert answer.expiry_timestamp_ms == -1
    broker.principal = BOB
    assert broker.ask(renew(token)).error_code == 0
    assert broker.ask(expire(token)).error_code == 0
    assert broker.ask(renew(token)).error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


def test_expired_token_cannot_be_renewed(broker: SecureBroker) -> None:
    token = broker.ask(create(max_lifetime_ms=1000))
    broker.clock.advance(2)
    assert broker.ask(renew(token)).error_code == ErrorCode.DELEGATION_TOKEN_EXPIRED


@pytest.mark.parametrize(
    ("listener", "principal"),
    [
        ("PLAINTEXT", ALICE),
        ("SSL", ANONYMOUS),
        ("SASL_PLAINTEXT", KafkaPrincipal("User", "alice", is_token_authenticated=True)),
    ],
)
def test_who_has_not_proved_by_itself_who_it_is_gets_no_token(
    listener: str, principal: KafkaPrincipal
) -> None:
    names = "SASL_PLAINTEXT://:9092,SSL://:9093,PLAINTEXT://:9094"
    broker = SecureBroker({**SECRET, "listeners": names})
    token = broker.ask(create())
    broker.listener_name, broker.principal = listener, principal
    for request in (create(), renew(token), expire(token), describe()):
        answer = broker.ask(request)
        assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


def test_without_the_key_there_are_no_tokens() -> None:
    broker = SecureBroker()
    for request in (create(), describe()):
        assert broker.ask(request).error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


def test_only_users_renew_tokens(broker: SecureBroker) -> None:
    answer = broker.ask(create(KafkaPrincipal("Group", "admins")))
    assert answer.error_code == ErrorCode.INVALID_PRINCIPAL_TYPE
