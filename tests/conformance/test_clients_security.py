"""Real clients over every kind of listener, by every mechanism; and what they hear if they fail.

M81: who a client is, and what it may do, is settled before it is answered.
"""

import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import NamedTuple

import pytest
from cryptography import x509

from kafkalike.client import ConfigResource, KafkaAdminClient, KafkaProducer, NewTopic
from kafkalike.client.simple_client import SimpleClient
from kafkalike.network.tls_failure import SslAuthenticationError
from kafkalike.protocol.errors import (
    SaslAuthenticationError,
    UnsupportedByAuthenticationError,
    UnsupportedSaslMechanismError,
)
from kafkalike.protocol.messages.metadata import MetadataRequest
from kafkalike.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalike.protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.support.broker import Broker
from tests.support.certificates import Authority
from tests.support.new_broker import STARTED
from tests.support.secure_clients import LIBRARIES, ours
from tests.support.secure_site import (
    LOGINS,
    MECHANISMS,
    PASSWORD,
    SECRETS,
    Login,
    SecureSite,
    SignedBearer,
    welcome,
)
from tests.support.target import unique_topic
from tests.support.waiting import wait_until
from tests.support.znode_client import znode_client

pytestmark = pytest.mark.ensemble


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> SecureSite:
    """Certificates and settings."""
    return SecureSite(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def broker(site: SecureSite, broker_factory: Callable[..., Broker]) -> Iterator[Broker]:
    """A broker with a listener of every kind, which has told no secret when it is all over."""
    started = broker_factory(properties=site.properties, is_started=False)
    started.port = site.ports["OPEN"]
    started.start()
    started.wait_for_log(STARTED)
    yield started
    log = started.log.read_text()
    assert not [secret for secret in SECRETS if secret in log]


@pytest.fixture(scope="module")
def admin(site: SecureSite, broker: Broker) -> Iterator[KafkaAdminClient]:
    """The one who may do everything."""
    client = site.admin()
    welcome(client, "alice", "ANONYMOUS")
    yield client
    client.close()


def new_topic(admin: KafkaAdminClient, owner: str) -> str:
    topic = unique_topic(f"{owner}-topic")
    admin.create_topics([NewTopic(topic, 1, 1)])
    return topic


@pytest.mark.parametrize("login", LOGINS, ids=str)
@pytest.mark.parametrize("library", LIBRARIES)
def test_record_goes_there_and_back(
    site: SecureSite, admin: KafkaAdminClient, library: str, login: Login
) -> None:
    topic = new_topic(admin, login.principal)
    assert LIBRARIES[library](site, login, topic) == b"hello"


# --- who is refused, and what is said: to the client, and in the log


class Refusal(NamedTuple):
    """Who tries, what our client and librdkafka say of it, and what the broker's log has."""

    login: Login
    error: type[Exception]
    told: str
    librdkafka: str
    logged: str


BAD_CREDENTIALS = "Authentication failed during authentication due to invalid credentials"
REFUSALS = [
    Refusal(
        Login("SASL", "PLAIN", password="wrong"),
        SaslAuthenticationError,
        "Authentication failed: Invalid username or password",
        "Authentication failed: Invalid username or password",
        "alice by PLAIN (Authentication failed: Invalid username or password)",
    ),
    Refusal(
        Login("SASL", "SCRAM-SHA-256", password="wrong"),
        SaslAuthenticationError,
        BAD_CREDENTIALS,
        BAD_CREDENTIALS,
        "alice by SCRAM-SHA-256 (Invalid client credentials: alice)",
    ),
    Refusal(
        Login("SECURE", "SCRAM-SHA-512", "nobody"),
        SaslAuthenticationError,
        BAD_CREDENTIALS,
        BAD_CREDENTIALS,
        "nobody by SCRAM-SHA-512 (Authentication failed: Invalid user credentials: nobody)",
    ),
    Refusal(
        Login("SCRAM_ONLY", "PLAIN"),
        UnsupportedSaslMechanismError,
        "'PLAIN' not enabled in the server, enabled mechanisms are [SCRAM-SHA-512]",
        "Broker: Unsupported SASL mechanism",
        "unknown user by no mechanism (Unsupported SASL mechanism PLAIN)",
    ),
    Refusal(
        Login("MUTUAL", certificate="expired"),
        SslAuthenticationError,
        "sslv3 alert certificate expired",
        "certificate expired",
        "on MUTUAL (SSL handshake failed: certificate has expired)",
    ),
    Refusal(
        Login("MUTUAL", certificate="stranger"),
        SslAuthenticationError,
        "tlsv1 alert unknown ca",
        "unknown ca",
        "on MUTUAL (SSL handshake failed: unable to get local issuer certificate)",
    ),
    Refusal(
        Login("MUTUAL"),
        SslAuthenticationError,
        "certificate required",
        "certificate required",
        "on MUTUAL (SSL handshake failed: peer did not return a certificate)",
    ),
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: str(refusal.login))
@pytest.mark.parametrize("library", LIBRARIES)
def test_who_cannot_prove_who_it_is_is_told_so_and_named_in_the_log(
    site: SecureSite,
    broker: Broker,
    admin: KafkaAdminClient,
    library: str,
    refusal: Refusal,
) -> None:
    expected: type[Exception] = refusal.error if library == "kafkalike" else Exception
    with pytest.raises(expected) as raised:
        LIBRARIES[library](site, refusal.login, "alice-topic")
    if library == "kafkalike":
        assert refusal.told in str(raised.value)
    if library == "confluent-kafka":
        assert refusal.librdkafka in str(raised.value)
    broker.wait_for_log(refusal.logged)


@pytest.mark.parametrize("library", LIBRARIES)
def test_client_that_does_not_trust_the_broker_says_why(
    site: SecureSite, admin: KafkaAdminClient, library: str
) -> None:
    other = str(site.directory / "stranger.crt")
    key = "ssl.ca.location" if library == "confluent-kafka" else "ssl_cafile"
    with pytest.raises(Exception) as raised:  # noqa: PT011 (each library has its own)
        LIBRARIES[library](site, Login("TLS"), "ANONYMOUS-topic", **{key: other})
    if library != "kafka-python":
        assert "certificate" in str(raised.value)


@pytest.mark.parametrize("library", LIBRARIES)
def test_who_has_no_acl_is_told_and_named_in_the_log(
    site: SecureSite, broker: Broker, admin: KafkaAdminClient, library: str
) -> None:
    topic = new_topic(admin, "bob")
    with pytest.raises(Exception) as raised:  # noqa: PT011 (each library has its own)
        LIBRARIES[library](site, Login("SECURE", "PLAIN"), topic)
    said = f"{type(raised.value).__name__} {raised.value}".lower().replace(" ", "")
    assert "topicauthorization" in said
    broker.wait_for_log(
        "Principal = User:alice is Denied Operation = Describe from host = 127.0.0.1 on resource "
        f"= Topic:LITERAL:{topic} for request = METADATA"
    )


# --- what only some clients do


def test_bearer_of_a_delegation_token_is_its_owner(
    site: SecureSite, broker: Broker, admin: KafkaAdminClient
) -> None:
    """KIP-48: made with a password, used by SCRAM at another listener; it gets no tokens itself."""
    alice = KafkaAdminClient(**site.python_settings(Login("SECURE", "SCRAM-SHA-512")))
    token = alice.create_delegation_token(renewers=[("User", "bob")])
    topic = new_topic(admin, "alice")
    hmac = b64encode(token["hmac"]).decode()
    bearer = Login("SASL", "SCRAM-SHA-256", token["token_id"], hmac)
    jaas = site.java_settings(bearer, tokenauth="true")["sasl.jaas.config"]
    assert ours(site, bearer, topic, sasl_jaas_config=jaas) == b"hello"
    settings = {**site.python_settings(bearer), "sasl_jaas_config": jaas}
    with (
        closing(KafkaAdminClient(**settings)) as of_token,
        pytest.raises(UnsupportedByAuthenticationError),
    ):
        of_token.create_delegation_token()
    alice.expire_delegation_token(token["hmac"])
    alice.close()
    with pytest.raises(SaslAuthenticationError):
        ours(site, bearer, topic, sasl_jaas_config=jaas)
    assert hmac not in broker.log.read_text()


def test_client_of_kafka_0_10_sends_bare_tokens(site: SecureSite, admin: KafkaAdminClient) -> None:
    """SaslHandshake v0: what follows has no header until the mechanism is satisfied."""
    with SimpleClient("127.0.0.1", site.ports["SASL"]) as client:
        handshake = client.send(SaslHandshakeRequest(mechanism="PLAIN"), 0)
        assert handshake.error_code == 0
        assert sorted(handshake.mechanisms) == sorted(MECHANISMS)
        client.send_frame(b"\0alice\0" + PASSWORD.encode())
        assert client.receive_frame() == b""
        answer = client.send(MetadataRequest(topics=[]))
        assert answer.controller_id == 1


def test_session_ends_unless_its_client_authenticates_again(
    site: SecureSite, broker: Broker, admin: KafkaAdminClient
) -> None:
    """KIP-368: `connections.max.reauth.ms` of a listener; clients do it unasked."""
    topic = new_topic(admin, "alice")
    with closing(
        KafkaProducer(**site.python_settings(Login("SHORT", "SCRAM-SHA-512")))
    ) as producer:
        until = time.monotonic() + 4.0
        while time.monotonic() < until:
            producer.send(topic, b"x", partition=0).get(timeout=10)
    with SimpleClient("127.0.0.1", site.ports["SHORT"]) as client:
        client.send(SaslHandshakeRequest(mechanism="PLAIN"))
        token = b"\0alice\0" + PASSWORD.encode()
        answer = client.send(SaslAuthenticateRequest(auth_bytes=token))
        assert 0 < answer.session_lifetime_ms <= 2000
        client.send(MetadataRequest(topics=[]))

        def is_closed() -> bool:
            try:
                client.send(MetadataRequest(topics=[]))
            except (OSError, EOFError):
                return True
            return False

        wait_until(is_closed, 10)


def test_token_must_be_signed_where_a_key_is_set(site: SecureSite, admin: KafkaAdminClient) -> None:
    topic = new_topic(admin, "alice")
    login = Login("SIGNED", "OAUTHBEARER")
    with pytest.raises(SaslAuthenticationError, match="invalid_token"):
        ours(site, login, topic)
    good = SignedBearer("alice", site.jwt_key)
    assert ours(site, login, topic, sasl_oauth_token_provider=good) == b"hello"
    forged = SignedBearer("alice", Authority.new().key)
    with pytest.raises(SaslAuthenticationError, match="invalid_token"):
        ours(site, login, topic, sasl_oauth_token_provider=forged)


def test_certificate_is_exchanged_while_the_broker_runs(
    site: SecureSite, broker: Broker, admin: KafkaAdminClient
) -> None:
    """Another file as key store of one listener, and then other contents of the same file."""

    def serial() -> int:
        pem = ssl.get_server_certificate(("127.0.0.1", site.ports["TLS"]))
        return x509.load_pem_x509_certificate(pem.encode()).serial_number

    before = serial()
    new = site.authority.issue("broker").write(site.directory / "broker-new.pem")
    key = "listener.name.tls.ssl.keystore.location"
    admin.alter_configs([ConfigResource("broker", "1", {key: str(new)})])
    wait_until(lambda: serial() != before)
    exchanged = serial()
    site.authority.issue("broker").write(new)
    admin.alter_configs([ConfigResource("broker", "1", {key: str(new)})])
    wait_until(lambda: serial() not in (before, exchanged))


def test_secret_that_changes_at_run_time_is_encrypted_in_zookeeper(
    site: SecureSite, broker: Broker, admin: KafkaAdminClient
) -> None:
    """`password.encoder.secret`: the password of a key that comes with it."""
    password = "the-password-of-the-key"
    store = site.authority.issue("broker").write(site.directory / "locked.pem", password)
    prefix = "listener.name.signed.ssl"
    changes = {f"{prefix}.keystore.location": str(store), f"{prefix}.key.password": password}
    admin.incremental_alter_configs([ConfigResource("broker", "1", changes)])
    with znode_client(broker.properties["zookeeper.connect"]) as znodes:
        stored = str(znodes.data("/config/brokers/1"))
    assert "encryptedPassword" in stored
    assert password not in stored
    described = admin.describe_configs([ConfigResource("broker", "1", [*changes])])
    assert password not in str(described)
    assert password not in broker.log.read_text()
