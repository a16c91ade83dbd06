"""A broker with a listener of every kind, the people who may use it, and how each client logs in.

On every listener but the first alice is User:alice: by her certificate, a password or a token.
What begins with a person's name is that person's own (prefixed ACLs); nobody may use the rest.
"""

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from kafkalike.client import KafkaAdminClient
from kafkalike.client.admin.values import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourceType,
    ScramMechanism,
)
from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalike.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kafkalike.security.sasl.jwt import unsecured_jwt
from tests.support.certificates import Authority, Certificate
from tests.support.ports import free_port

PROTOCOLS: Final = {
    "OPEN": "PLAINTEXT",
    "TLS": "SSL",
    "MUTUAL": "SSL",
    "SASL": "SASL_PLAINTEXT",
    "SECURE": "SASL_SSL",
    "SCRAM_ONLY": "SASL_PLAINTEXT",
    "SHORT": "SASL_PLAINTEXT",
    "SIGNED": "SASL_SSL",
}
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
PASSWORD: Final = "alice's-password"
ADMIN_PASSWORD: Final = "admin-password"
BROKER_PASSWORD: Final = "broker-password"
TOKEN_KEY: Final = "the-key-of-all-tokens"
ENCODER_SECRET: Final = "secret-of-the-encoder"
SECRETS: Final = (
    PASSWORD,
    ADMIN_PASSWORD,
    BROKER_PASSWORD,
    TOKEN_KEY,
    ENCODER_SECRET,
    "BEGIN PRIVATE KEY",
)
FAR_FUTURE_S: Final = 4_000_000_000
_SASL_PACKAGE: Final = "org.apache.kafka.common.security"


@dataclass(frozen=True)
class Login:
    """How somebody comes in: by which listener, with what."""

    listener: str
    mechanism: str | None = None
    username: str = "alice"
    password: str = PASSWORD
    certificate: str | None = None

    @property
    def protocol(self) -> str:
        """The security protocol of the listener."""
        return PROTOCOLS[self.listener]

    @property
    def principal(self) -> str:
        """Whom the broker sees."""
        return "ANONYMOUS" if self.listener in ("OPEN", "TLS") else self.username

    def __str__(self) -> str:
        return " ".join(filter(None, (self.listener, self.mechanism, self.certificate)))


LOGINS: Final = [
    Login("OPEN"),
    Login("TLS"),
    Login("MUTUAL", certificate="alice"),
    *[Login("SASL", mechanism) for mechanism in MECHANISMS],
    *[Login("SECURE", mechanism) for mechanism in MECHANISMS],
]


class SecureSite:
    """Certificates and settings in a directory; `properties` are those of one broker."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.authority = Authority.new()
        self.jwt_key = Authority.new().key
        self.jwt_public_key = directory / "jwt.pem"
        self.jwt_public_key.write_bytes(
            self.jwt_key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        )
        self.ports = {name: free_port() for name in PROTOCOLS}
        self.ca = directory / "ca.pem"
        self.ca.write_text(self.authority.certificate_pem)
        self.broker_store = self.authority.issue("broker").write(directory / "broker.pem")
        self._keep("alice", self.authority.issue("alice"))
        self._keep("expired", self.authority.issue("alice", lifetime=timedelta(seconds=-10)))
        self._keep("stranger", Authority.new("a stranger").issue("alice"))

    def _keep(self, name: str, certificate: Certificate) -> None:
        """Write a certificate as one file, and as two."""
        (self.directory / f"{name}.key").write_text(certificate.key_pem())
        (self.directory / f"{name}.crt").write_text(certificate.certificate_pem)
        certificate.write(self.directory / f"{name}.pem")

    def another_broker(self) -> "SecureSite":
        """Make the same site for one more broker: with ports of its own."""
        site = copy(self)
        site.ports = {name: free_port() for name in PROTOCOLS}
        return site

    def connect(self, login: Login, client_id: str = "test") -> SimpleClient:
        """Open a connection that sends any request, logged in by PLAIN."""
        port = self.ports[login.listener]
        client = SimpleClient("127.0.0.1", port, client_id=client_id)
        client.send(SaslHandshakeRequest(mechanism="PLAIN"))
        token = f"\0{login.username}\0{login.password}".encode()
        answer = client.send(SaslAuthenticateRequest(auth_bytes=token))
        assert answer.error_code == 0, answer.error_message
        return client

    def bootstrap(self, listener: str) -> str:
        """Return the address of a listener, as clients want it."""
        return f"127.0.0.1:{self.ports[listener]}"

    def plain_logins(self, **others: str) -> str:
        """Give the JAAS configuration with the passwords for PLAIN."""
        known = {"broker": BROKER_PASSWORD, "admin": ADMIN_PASSWORD, "alice": PASSWORD, **others}
        users = " ".join(f'user_{name}="{password}"' for name, password in known.items())
        return (
            f"{_SASL_PACKAGE}.plain.PlainLoginModule required username=broker "
            f'password="{BROKER_PASSWORD}" {users};'
        )

    @property
    def properties(self) -> dict[str, str]:
        """The settings of a broker."""
        plain = self.plain_logins()
        oauth = f"{_SASL_PACKAGE}.oauthbearer.OAuthBearerLoginModule required"
        settings = {
            "listeners": ",".join(f"{name}://{self.bootstrap(name)}" for name in PROTOCOLS),
            "listener.security.protocol.map": ",".join(f"{k}:{v}" for k, v in PROTOCOLS.items()),
            "inter.broker.listener.name": "SECURE",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.broker_store),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.ca),
            "listener.name.mutual.ssl.client.auth": "required",
            "ssl.principal.mapping.rules": "RULE:^CN=([^,]*).*$/$1/,DEFAULT",
            "delegation.token.secret.key": TOKEN_KEY,
            "password.encoder.secret": ENCODER_SECRET,
            "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
            "super.users": "User:broker;User:admin",
            "connection.failed.authentication.delay.ms": "50",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "2",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.num.partitions": "2",
            "group.initial.rebalance.delay.ms": "0",
        }
        for name in ("sasl", "secure", "short"):
            settings[f"listener.name.{name}.sasl.enabled.mechanisms"] = ",".join(MECHANISMS)
            settings[f"listener.name.{name}.plain.sasl.jaas.config"] = plain
            settings[f"listener.name.{name}.oauthbearer.sasl.jaas.config"] = f"{oauth};"
        for mechanism in MECHANISMS:
            settings[f"listener.name.short.{mechanism.lower()}.connections.max.reauth.ms"] = "2000"
        return settings | {
            "listener.name.scram_only.sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.signed.sasl.enabled.mechanisms": "OAUTHBEARER",
            "listener.name.signed.oauthbearer.sasl.jaas.config": (
                f'{oauth} signedValidatorKeyFile="{self.jwt_public_key}";'
            ),
        }

    def admin(self) -> KafkaAdminClient:
        """Connect as the one who may do everything."""
        login = Login("SECURE", "PLAIN", "admin", ADMIN_PASSWORD)
        return KafkaAdminClient(**self.python_settings(login))

    # --- the settings of clients, in the words of each

    def python_settings(self, login: Login) -> dict[str, Any]:
        """Give the settings of kafka-python, which are ours too."""
        settings: dict[str, Any] = {
            "bootstrap_servers": self.bootstrap(login.listener),
            "security_protocol": login.protocol,
        }
        if "SSL" in login.protocol:
            settings["ssl_cafile"] = str(self.ca)
        if login.certificate is not None:
            store = self.directory / login.certificate
            settings["ssl_certfile"] = f"{store}.crt"
            settings["ssl_keyfile"] = f"{store}.key"
        if login.mechanism is not None:
            settings["sasl_mechanism"] = login.mechanism
        if login.mechanism == "OAUTHBEARER":
            settings["sasl_oauth_token_provider"] = BearerOf(login.username)
        elif login.mechanism is not None:
            settings["sasl_plain_username"] = login.username
            settings["sasl_plain_password"] = login.password
        return settings

    def confluent_settings(self, login: Login) -> dict[str, Any]:
        """Give the settings of librdkafka."""
        settings: dict[str, Any] = {
            "bootstrap.servers": self.bootstrap(login.listener),
            "security.protocol": login.protocol,
        }
        if "SSL" in login.protocol:
            settings["ssl.ca.location"] = str(self.ca)
        if login.certificate is not None:
            store = self.directory / login.certificate
            settings["ssl.certificate.location"] = f"{store}.crt"
            settings["ssl.key.location"] = f"{store}.key"
        if login.mechanism is not None:
            settings["sasl.mechanism"] = login.mechanism
        if login.mechanism == "OAUTHBEARER":
            settings["enable.sasl.oauthbearer.unsecure.jwt"] = True
            settings["sasl.oauthbearer.config"] = f"principal={login.username}"
        elif login.mechanism is not None:
            settings["sasl.username"] = login.username
            settings["sasl.password"] = login.password
        return settings

    def java_settings(self, login: Login, **options: str) -> dict[str, str]:
        """Give the settings of Kafka's own clients; `options` go to the login module."""
        settings = {"security.protocol": login.protocol}
        if "SSL" in login.protocol:
            settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.ca)}
        if login.certificate is not None:
            # A file as key store must have a password in Kafka 2.8; the texts themselves need none.
            settings |= {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.key": self._one_line(f"{login.certificate}.key"),
                "ssl.keystore.certificate.chain": self._one_line(f"{login.certificate}.crt"),
            }
        if login.mechanism is not None:
            settings["sasl.mechanism"] = login.mechanism
            settings["sasl.jaas.config"] = _jaas(login, options)
        return settings

    def _one_line(self, name: str) -> str:
        """Give a file as the value of a properties file."""
        return (self.directory / name).read_text().replace("\n", "\\n")


class BearerOf:
    """Gives tokens that nobody signed, as the listeners here take them."""

    def __init__(self, username: str) -> None:
        super().__init__()
        self._username = username

    def token(self) -> str:
        """Make a token that lasts."""
        return unsecured_jwt({"sub": self._username, "iat": 0, "exp": FAR_FUTURE_S})


class SignedBearer(BearerOf):
    """Gives tokens that are signed with an elliptic curve key (ES256)."""

    def __init__(self, username: str, key: Any) -> None:
        super().__init__(username)
        self._key = key

    def token(self) -> str:
        """Make a token, and sign it."""
        claims = {"sub": self._username, "iat": 0, "exp": FAR_FUTURE_S}
        parts = (_base64(json.dumps(part).encode()) for part in ({"alg": "ES256"}, claims))
        text = ".".join(parts)
        numbers = decode_dss_signature(self._key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{text}.{_base64(b''.join(n.to_bytes(32) for n in numbers))}"


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _jaas(login: Login, options: Mapping[str, str]) -> str:
    if login.mechanism == "OAUTHBEARER":
        module = f"{_SASL_PACKAGE}.oauthbearer.OAuthBearerLoginModule"
        given = {"unsecuredLoginStringClaim_sub": login.username}
    else:
        kind = "Plain" if login.mechanism == "PLAIN" else "Scram"
        module = f"{_SASL_PACKAGE}.{kind.lower()}.{kind}LoginModule"
        given = {"username": login.username, "password": login.password}
    words = (f'{name}="{value}"' for name, value in {**given, **options}.items())
    return f"{module} required {' '.join(words)};"


def welcome(admin: KafkaAdminClient, *people: str) -> None:
    """Give people passwords for SCRAM, and what begins with their name."""
    for person in people:
        for mechanism in ScramMechanism:
            admin.upsert_user_scram_credentials(person, PASSWORD, mechanism)
        kinds = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
        acls = [
            ACL(
                f"User:{person}",
                "*",
                ACLOperation.ALL,
                ACLPermissionType.ALLOW,
                ResourcePattern(kind, person, ACLResourcePatternType.PREFIXED),
            )
            for kind in kinds
        ]
        assert not admin.create_acls(acls)["failed"]
