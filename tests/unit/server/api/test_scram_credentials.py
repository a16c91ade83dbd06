"""DescribeUserScramCredentials and AlterUserScramCredentials."""

import pytest

from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kafkalike.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from kafkalike.security.sasl.scram import ScramMechanism, parse_credential, salted_password
from tests.support.run import run
from tests.support.secure_broker import SecureBroker

SHA_256, SHA_512 = (mechanism.code for mechanism in ScramMechanism)


def upsertion(
    user: str = "al", *, mechanism: int = SHA_256, iterations: int = 4096
) -> ScramCredentialUpsertion:
    salted = salted_password(ScramMechanism.SCRAM_SHA_256, "secret", b"salt", 4096)
    return ScramCredentialUpsertion(
        name=user, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=salted
    )


def deletion(user: str = "al", mechanism: int = SHA_256) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name=user, mechanism=mechanism)


def alter(
    broker: SecureBroker, *changes: ScramCredentialUpsertion | ScramCredentialDeletion
) -> dict[str, tuple[int, str | None]]:
    request = AlterUserScramCredentialsRequest(
        upsertions=[one for one in changes if isinstance(one, ScramCredentialUpsertion)],
        deletions=[one for one in changes if isinstance(one, ScramCredentialDeletion)],
    )
    results = broker.ask(request).results
    return {one.user: (one.error_code, one.error_message) for one in results}


def describe(broker: SecureBroker, *users: str) -> dict[str, list[tuple[int, int]] | int]:
    names = [UserName(name=user) for user in users] or None
    results = broker.ask(DescribeUserScramCredentialsRequest(users=names)).results
    return {
        one.user: one.error_code or [(i.mechanism, i.iterations) for i in one.credential_infos]
        for one in results
    }


@pytest.fixture
def broker() -> SecureBroker:
    return SecureBroker()


def test_credential_is_stored_in_kafkas_form_and_told_without_its_secrets(
    broker: SecureBroker,
) -> None:
    assert alter(broker, upsertion()) == {"al": (0, "")}
    stored = run(broker.zk.get_entity_configs("users", "al"))["SCRAM-SHA-256"]
    assert parse_credential(stored).salt == b"salt"
    assert describe(broker) == describe(broker, "al") == {"al": [(SHA_256, 4096)]}


def test_credential_is_deleted_and_the_other_one_stays(broker: SecureBroker) -> None:
    alter(broker, upsertion(), upsertion(mechanism=SHA_512, iterations=8192))
    assert alter(broker, deletion()) == {"al": (0, "")}
    assert describe(broker) == {"al": [(SHA_512, 8192)]}


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (upsertion(iterations=4095), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
        (upsertion(iterations=16385), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations"),
        (
            upsertion(mechanism=9),
            ErrorCode.UNSUPPORTED_SASL_MECHANISM,
            "Unknown SCRAM mechanism",
        ),
        (upsertion(""), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        (
            deletion(),
            ErrorCode.RESOURCE_NOT_FOUND,
            "Attempt to delete a user credential that does not exist",
        ),
    ],
)
def test_change_that_makes_no_sense_is_refused_in_kafkas_words(
    broker: SecureBroker,
    change: ScramCredentialUpsertion | ScramCredentialDeletion,
    code: ErrorCode,
    message: str,
) -> None:
    assert alter(broker, change, upsertion("bob")) == {
        change.name: (code, message),
        "bob": (0, ""),
    }


def test_user_whose_credential_changes_twice_stays_as_it_was(broker: SecureBroker) -> None:
    (answer,) = alter(broker, upsertion(), deletion()).values()
    assert answer[0] == ErrorCode.DUPLICATE_RESOURCE
    assert describe(broker) == {}


def test_only_the_controller_changes_credentials(broker: SecureBroker) -> None:
    broker.controller.is_active = False
    assert alter(broker, upsertion())["al"][0] == ErrorCode.NOT_CONTROLLER


def test_user_without_credentials_is_not_found_and_none_is_described_twice(
    broker: SecureBroker,
) -> None:
    alter(broker, upsertion())
    assert describe(broker, "bob", "al", "al") == {
        "bob": ErrorCode.RESOURCE_NOT_FOUND,
        "al": ErrorCode.DUPLICATE_RESOURCE,
    }
