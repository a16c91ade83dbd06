"""Secrets that stand in ZooKeeper, encrypted as Kafka's `PasswordEncoder` does it.

A password is written as a list of `name:value` pairs, with everything that decoding it needs but
the secret (`password.encoder.secret`): so each can be written in another way.
"""

import hashlib
import os
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.errors import ConfigError
from kafkalike.config.value_types import Password
from kafkalike.security.cryptography_door import load

_PURPOSE: Final = "encrypting settings (password.encoder.secret)"
_SALT_BYTES: Final = 256
_GCM_TAG_BITS: Final = 128
_DEFAULT_KEY_FACTORY: Final = "PBKDF2WithHmacSHA512"
_HASHES: Final = {
    "PBKDF2WithHmacSHA1": "sha1",
    "PBKDF2WithHmacSHA224": "sha224",
    "PBKDF2WithHmacSHA256": "sha256",
    "PBKDF2WithHmacSHA384": "sha384",
    "PBKDF2WithHmacSHA512": "sha512",
}


class _Way(NamedTuple):
    """How a password is encrypted."""

    key_factory: str
    cipher: str
    key_bits: int
    iterations: int

    def key(self, secret: str, salt: bytes) -> bytes:
        """Derive the key from the secret."""
        digest = _HASHES.get(self.key_factory)
        if digest is None:
            raise ConfigError(
                f"password.encoder.keyfactory.algorithm={self.key_factory} is not supported; use "
                f"one of {', '.join(_HASHES)}"
            )
        return hashlib.pbkdf2_hmac(
            digest, secret.encode(), salt, self.iterations, self.key_bits // 8
        )

    @property
    def is_gcm(self) -> bool:
        """Whether the cipher authenticates; else it is CBC with padding."""
        if self.cipher not in ("AES/CBC/PKCS5Padding", "AES/GCM/NoPadding"):
            raise ConfigError(
                f"password.encoder.cipher.algorithm={self.cipher} is not supported; use "
                "AES/CBC/PKCS5Padding or AES/GCM/NoPadding"
            )
        return "/GCM/" in self.cipher


class PasswordEncoder:
    """Encodes and decodes with one secret."""

    def __init__(
        self, secret: Password, way: _Way, random_bytes: Callable[[int], bytes] = os.urandom
    ) -> None:
        self._secret = secret.value
        self._way = way
        self._random_bytes = random_bytes

    @classmethod
    def of(cls, config: BrokerConfig, secret: Password | None) -> "PasswordEncoder | None":
        """Make the encoder that a broker's configuration describes; None without a secret."""
        if secret is None:
            return None
        way = _Way(
            config.password_encoder_keyfactory_algorithm or _DEFAULT_KEY_FACTORY,
            config.password_encoder_cipher_algorithm,
            config.password_encoder_key_length,
            config.password_encoder_iterations,
        )
        return cls(secret, way)

    def encode(self, password: str) -> str:
        """Encrypt a password."""
        way = self._way
        salt = self._random_bytes(_SALT_BYTES)
        vector = self._random_bytes(12 if way.is_gcm else 16)
        encrypted = _encrypt(way, way.key(self._secret, salt), vector, password.encode())
        parts = {
            "keyFactoryAlgorithm": way.key_factory,
            "cipherAlgorithm": way.cipher,
            "keyLength": str(way.key_bits),
            "salt": b64encode(salt).decode(),
            "iterations": str(way.iterations),
            "encryptedPassword": b64encode(encrypted).decode(),
            "passwordLength": str(len(password)),
            "initializationVector": b64encode(vector).decode(),
        }
        if way.is_gcm:
            parts["authenticationTagLength"] = str(_GCM_TAG_BITS)
        return ",".join(f"{name}:{value}" for name, value in parts.items())

    def decode(self, encoded: str) -> str:
        """Decrypt a password; raise ConfigError if it cannot be, say with this secret."""
        try:
            parts = dict(pair.split(":", 1) for pair in encoded.split(","))
            way = _Way(
                parts["keyFactoryAlgorithm"],
                parts["cipherAlgorithm"],
                int(parts["keyLength"]),
                int(parts["iterations"]),
            )
            key = way.key(self._secret, b64decode(parts["salt"]))
            vector = b64decode(parts["initializationVector"])
            data = b64decode(parts["encryptedPassword"])
            password = _decrypt(way, key, vector, data).decode()
            length = int(parts["passwordLength"])
        except (KeyError, ValueError) as error:
            raise ConfigError("Password could not be decoded") from error
        if len(password) != length:
            raise ConfigError("Password could not be decoded, sanity check of length failed")
        return password


def _encrypt(way: _Way, key: bytes, vector: bytes, data: bytes) -> bytes:
    encrypted: bytes
    if way.is_gcm:
        encrypted = _load("ciphers.aead").AESGCM(key).encrypt(vector, data, None)
        return encrypted
    padder = _load("padding").PKCS7(128).padder()
    encryptor = _cbc(key, vector).encryptor()
    encrypted = encryptor.update(padder.update(data) + padder.finalize()) + encryptor.finalize()
    return encrypted


def _decrypt(way: _Way, key: bytes, vector: bytes, data: bytes) -> bytes:
    decrypted: bytes
    if way.is_gcm:
        try:
            decrypted = _load("ciphers.aead").AESGCM(key).decrypt(vector, data, None)
        except load("exceptions", _PURPOSE).InvalidTag:
            raise ValueError("the secret is another one") from None
        return decrypted
    decryptor = _cbc(key, vector).decryptor()
    unpadder = _load("padding").PKCS7(128).unpadder()
    padded = decryptor.update(data) + decryptor.finalize()
    decrypted = unpadder.update(padded) + unpadder.finalize()
    return decrypted


def _cbc(key: bytes, vector: bytes) -> Any:
    ciphers = _load("ciphers")
    return ciphers.Cipher(ciphers.algorithms.AES(key), ciphers.modes.CBC(vector))


def _load(module: str) -> Any:  # Any: a module, known by its name only
    return load(f"hazmat.primitives.{module}", _PURPOSE)
