import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalike.protocol.errors import IllegalSaslStateError, SaslAuthenticationError
from kafkalike.security.credentials import CredentialProvider
from kafkalike.security.sasl.mechanism import SaslError
from kafkalike.security.sasl.scram import (
    ScramCredential,
    ScramMechanism,
    credential_of,
    format_credential,
    from_sasl_name,
    generate_credential,
    parse_credential,
    salted_password,
    to_sasl_name,
)
from kafkalike.security.sasl.scram_client import ScramClient, ScramLogin
from kafkalike.security.sasl.scram_server import ScramServer
from kafkalike.zk.znodes import TokenInformation

SHA_256 = ScramMechanism.SCRAM_SHA_256
BOTH = pytest.mark.parametrize("mechanism", list(ScramMechanism))


def provider(mechanism: ScramMechanism, name: str, password: str) -> CredentialProvider:
    credentials = CredentialProvider()
    text = format_credential(generate_credential(mechanism, password))
    credentials.update_user(name, {mechanism.mechanism_name: text})
    return credentials


def exchange(server: ScramServer, client: ScramClient) -> None:
    challenge = b""
    while not client.is_complete:
        token = client.evaluate(challenge)
        if token:
            challenge = server.evaluate(token)


@BOTH
@pytest.mark.parametrize("name", ["bob", "b=o,b"])
def test_the_right_password_convinces_both_sides(mechanism: ScramMechanism, name: str) -> None:
    server = ScramServer(mechanism, provider(mechanism, name, "secret"))
    client = ScramClient(ScramLogin(mechanism, name, "secret"))
    exchange(server, client)
    assert server.is_complete
    assert server.authorization_id == name
    assert not server.is_token_authenticated


@BOTH
def test_a_wrong_password_is_refused_without_saying_why(mechanism: ScramMechanism) -> None:
    server = ScramServer(mechanism, provider(mechanism, "bob", "secret"))
    with pytest.raises(SaslError, match="Invalid client credentials"):
        exchange(server, ScramClient(ScramLogin(mechanism, "bob", "wrong")))
    assert not server.is_complete
    with pytest.raises(IllegalSaslStateError):
        server.evaluate(b"n,,n=bob,r=x")


def test_an_unknown_user_is_refused() -> None:
    server = ScramServer(SHA_256, CredentialProvider())
    with pytest.raises(SaslError, match="Invalid user credentials"):
        server.evaluate(b"n,,n=bob,r=nonce")
    assert server.claimed_id == "bob"


def test_the_exchange_of_rfc_7677_is_byte_for_byte_ours() -> None:
    salt = b"[m\x99h\x9d\x125\x8e\xec\xa0K\x14\x126\xfa\x81"
    salted = salted_password(SHA_256, "pencil", salt, 4096)
    credentials = CredentialProvider()
    text = format_credential(credential_of(SHA_256, salt, salted, 4096))
    credentials.update_user("user", {"SCRAM-SHA-256": text})
    client = ScramClient(ScramLogin(SHA_256, "user", "pencil"), lambda: "rOprNGfwEbeRWgbNEkqO")
    server = ScramServer(SHA_256, credentials, lambda: "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    first = client.evaluate(b"")
    assert first == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    challenge = server.evaluate(first)
    assert challenge == (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    final = client.evaluate(challenge)
    assert final == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert server.evaluate(final) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_a_delegation_token_logs_its_owner_in() -> None:
    credentials = CredentialProvider()
    token = TokenInformation(
        token_id="id-1",
        owner="User:alice",
        renewers=(),
        issue_timestamp_ms=1,
        expiry_timestamp_ms=50,
        max_timestamp_ms=100,
    )
    known = {mechanism: generate_credential(mechanism, "hmac") for mechanism in ScramMechanism}
    credentials.tokens.update(token, b"?", known)
    server = ScramServer(SHA_256, credentials)
    exchange(server, ScramClient(ScramLogin(SHA_256, "id-1", "hmac", is_token=True)))
    assert server.authorization_id == "alice"
    assert server.is_token_authenticated
    assert server.expires_at_ms == 50


def test_a_token_id_is_no_user_and_a_user_no_token_id() -> None:
    credentials = provider(SHA_256, "bob", "secret")
    with pytest.raises(SaslError, match="Invalid tokenId : bob"):
        ScramServer(SHA_256, credentials).evaluate(b"n,,n=bob,r=x,tokenauth=true")


def test_another_authorization_id_is_refused() -> None:
    server = ScramServer(SHA_256, provider(SHA_256, "bob", "secret"))
    with pytest.raises(SaslAuthenticationError, match="different from username"):
        server.evaluate(b"n,a=alice,n=bob,r=x")


@pytest.mark.parametrize("message", [b"", b"y,,n=bob,r=x", b"n,,n=,r=x", b"n,,n=b=ob,r=x", b"\xff"])
def test_a_first_message_that_is_none_is_refused(message: bytes) -> None:
    with pytest.raises(SaslError):
        ScramServer(SHA_256, provider(SHA_256, "bob", "secret")).evaluate(message)


def test_a_credential_with_too_few_iterations_is_not_used() -> None:
    credentials = CredentialProvider()
    weak = format_credential(generate_credential(SHA_256, "secret", 100))
    credentials.update_user("bob", {"SCRAM-SHA-256": weak})
    with pytest.raises(SaslError, match="less than the minimum"):
        ScramServer(SHA_256, credentials).evaluate(b"n,,n=bob,r=x")


def test_a_client_does_not_believe_a_server_that_cannot_prove_itself() -> None:
    client = ScramClient(ScramLogin(SHA_256, "bob", "secret"), lambda: "abc")
    client.evaluate(b"")
    client.evaluate(b"r=abcdef,s=c2FsdA==,i=4096")
    with pytest.raises(SaslError, match="Invalid server signature"):
        client.evaluate(b"v=c2FsdA==")


@pytest.mark.parametrize(
    "challenge", [b"r=xyz,s=c2FsdA==,i=4096", b"r=abcdef,s=c2FsdA==,i=1", b"nonsense"]
)
def test_a_client_stretches_no_key_for_a_strange_challenge(challenge: bytes) -> None:
    client = ScramClient(ScramLogin(SHA_256, "bob", "secret"), lambda: "abc")
    client.evaluate(b"")
    with pytest.raises(SaslError):
        client.evaluate(challenge)


def test_a_credential_survives_zookeeper() -> None:
    credential = ScramCredential(b"salt", b"stored", b"server", 4096)
    assert parse_credential(format_credential(credential)) == credential
    assert "c2Fsd" not in repr(credential)
    for text in ("", "salt=x", "salt=eA==,stored_key=eA==,server_key=eA==,iterations=many"):
        with pytest.raises(ValueError, match=r"not valid|invalid"):
            parse_credential(text)


def test_a_credential_that_cannot_be_read_is_as_good_as_none() -> None:
    credentials = provider(SHA_256, "bob", "secret")
    credentials.update_user("bob", {"SCRAM-SHA-256": "nonsense"})
    assert credentials.user(SHA_256, "bob") is None


@given(st.text())
def test_names_survive_their_protection(name: str) -> None:
    assert from_sasl_name(to_sasl_name(name)) == name
