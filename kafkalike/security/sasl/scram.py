"""SCRAM (RFC 5802, 7677): the arithmetic, and credentials as ZooKeeper keeps them.

Part of Kafka's `ScramFormatter` and `ScramCredentialUtils`. Stretching a password
(`salted_password`) takes milliseconds and belongs in a thread; the rest is quick.
"""

import hashlib
import hmac
from base64 import b64decode, b64encode
from dataclasses import dataclass
from enum import Enum
from secrets import choice
from typing import Final

SCRAM_LOGIN_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
_NONCE_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_NONCE_LENGTH: Final = 26  # 36 ** 26 is more than the 130 bits that Kafka takes


class ScramMechanism(Enum):
    """The two mechanisms: number on the wire, hash function, least and most iterations."""

    SCRAM_SHA_256 = (1, "sha256")
    SCRAM_SHA_512 = (2, "sha512")

    def __init__(self, code: int, hash_name: str) -> None:
        self.code = code
        self.hash_name = hash_name

    @property
    def mechanism_name(self) -> str:
        """SCRAM-SHA-256 or SCRAM-SHA-512."""
        return self.name.replace("_", "-")

    def hash(self, data: bytes) -> bytes:
        """Hash."""
        return hashlib.new(self.hash_name, data).digest()

    def hmac(self, key: bytes, data: bytes) -> bytes:
        """Hash with a key."""
        return hmac.digest(key, data, self.hash_name)


MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 16384
MECHANISMS: Final = {mechanism.mechanism_name: mechanism for mechanism in ScramMechanism}
BY_CODE: Final = {mechanism.code: mechanism for mechanism in ScramMechanism}


@dataclass(frozen=True, slots=True, repr=False)
class ScramCredential:
    """What a broker knows of a password: enough to check it, not enough to use it."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return f"ScramCredential([hidden], iterations={self.iterations})"


def salted_password(
    mechanism: ScramMechanism, password: str, salt: bytes, iterations: int
) -> bytes:
    """Stretch a password."""
    return hashlib.pbkdf2_hmac(mechanism.hash_name, password.encode(), salt, iterations)


def credential_of(
    mechanism: ScramMechanism, salt: bytes, salted: bytes, iterations: int
) -> ScramCredential:
    """Make the credential of a stretched password."""
    stored_key = mechanism.hash(mechanism.hmac(salted, b"Client Key"))
    return ScramCredential(salt, stored_key, mechanism.hmac(salted, b"Server Key"), iterations)


def generate_credential(
    mechanism: ScramMechanism, password: str, iterations: int = MIN_ITERATIONS
) -> ScramCredential:
    """Make the credential of a password, with a salt of its own."""
    salt = random_text().encode()
    salted = salted_password(mechanism, password, salt, iterations)
    return credential_of(mechanism, salt, salted, iterations)


def format_credential(credential: ScramCredential) -> str:
    """Write a credential as the value of a user's config in ZooKeeper."""
    salt, stored, server = (
        b64encode(part).decode()
        for part in (credential.salt, credential.stored_key, credential.server_key)
    )
    return f"salt={salt},stored_key={stored},server_key={server},iterations={credential.iterations}"


def parse_credential(text: str) -> ScramCredential:
    """Read a credential, or raise a ValueError that does not show it."""
    parts = dict(part.partition("=")[::2] for part in text.split(","))
    if parts.keys() != {"salt", "stored_key", "server_key", "iterations"}:
        raise ValueError("SCRAM credentials not valid")
    return ScramCredential(
        b64decode(parts["salt"]),
        b64decode(parts["stored_key"]),
        b64decode(parts["server_key"]),
        int(parts["iterations"]),
    )


def random_text() -> str:
    """Give 26 random characters, for nonces and salts."""
    return "".join(choice(_NONCE_DIGITS) for _ in range(_NONCE_LENGTH))


def xor(first: bytes, second: bytes) -> bytes:
    """Combine two values of the same length, bit by bit."""
    return bytes(a ^ b for a, b in zip(first, second, strict=True))


def to_sasl_name(username: str) -> str:
    """Protect the two signs that mean something in messages."""
    return username.replace("=", "=3D").replace(",", "=2C")


def from_sasl_name(sasl_name: str) -> str:
    """Undo `to_sasl_name`; raise ValueError where a sign was not protected."""
    username = sasl_name.replace("=2C", ",")
    if "=" in username.replace("=3D", ""):
        raise ValueError(f"Invalid username: {sasl_name}")
    return username.replace("=3D", "=")
