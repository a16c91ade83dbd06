"""Keys and certificates as PEM: from texts, PEM files and PKCS12 files; not from Java's own JKS.

A key store is a private key and its certificate chain, a trust store the certificates of the
authorities that are believed. Kafka's defaults say JKS; a file that is PEM or PKCS12 is taken for
what it is (`ssl.keystore.type` may then stay unset). PKCS12 needs the package `cryptography`.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kafkalike.config.errors import ConfigError
from kafkalike.security.cryptography_door import load

_JKS_MAGIC: Final = bytes.fromhex("feedfeed")
_PEM_MARK: Final = b"-----BEGIN "
_PEM_BLOCK: Final = re.compile(rb"-----BEGIN ([^-]+)-----\s([^-]+)-----END \1-----")
PEM: Final = "PEM"


@dataclass(frozen=True, slots=True, repr=False)
class KeyStore:
    """PEM of a private key and its chain, the own certificate first; and the key's password."""

    pem: bytes
    password: str | None


def key_store_of_pem(key: str, chain: str, password: str | None) -> KeyStore:
    """Take key and chain from PEM texts."""
    return KeyStore(_rewrapped(key.encode()) + b"\n" + _rewrapped(chain.encode()), password)


def read_key_store(
    path: str, kind: str, store_password: str | None, key_password: str | None
) -> KeyStore:
    """Read a key store file."""
    data = _read(path)
    if _PEM_MARK in data:
        return KeyStore(_rewrapped(data), key_password)
    store = _pkcs12(data, kind, store_password, f"ssl.keystore.location {path}")
    if store.key is None or store.cert is None:
        raise ConfigError(f"ssl.keystore.location {path} has no private key")
    serialization = _serialization()
    key: bytes = store.key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return KeyStore(key + _certificates(store.cert, *store.additional_certs), None)


def trust_store_of_pem(text: str) -> bytes:
    """Take trusted certificates from PEM."""
    return _rewrapped(text.encode())


def read_trust_store(path: str, kind: str, password: str | None) -> bytes:
    """Read a trust store file as PEM."""
    data = _read(path)
    if _PEM_MARK in data:
        return _rewrapped(data)
    store = _pkcs12(data, kind, password, f"ssl.truststore.location {path}")
    certificates = [*store.additional_certs, *([store.cert] if store.cert else [])]
    if not certificates:
        raise ConfigError(f"ssl.truststore.location {path} has no certificates")
    return _certificates(*certificates)


def _pkcs12(data: bytes, kind: str, password: str | None, what: str) -> Any:
    if data.startswith(_JKS_MAGIC):
        raise ConfigError(
            f"{what} is a Java key store (JKS), which only Java reads: make PKCS12 of it with "
            "keytool -importkeystore -deststoretype pkcs12, or use PEM"
        )
    if kind.upper() == PEM:
        raise ConfigError(f"{what} is not PEM, though its type says so")
    pkcs12 = load("hazmat.primitives.serialization.pkcs12", f"reading PKCS12 ({what})")
    try:
        return pkcs12.load_pkcs12(data, password.encode() if password else None)
    except ValueError as error:
        raise ConfigError(f"{what} cannot be opened: {error}") from error


def _certificates(*certificates: Any) -> bytes:
    encoding = _serialization().Encoding.PEM
    return b"".join(certificate.certificate.public_bytes(encoding) for certificate in certificates)


def _serialization() -> Any:
    return load("hazmat.primitives.serialization", "reading PKCS12")


def _rewrapped(pem: bytes) -> bytes:
    """Break the lines anew: in a properties file they are often joined by blanks."""
    return b"\n".join(map(_rewrapped_block, _PEM_BLOCK.finditer(pem))) or pem


def _rewrapped_block(block: re.Match[bytes]) -> bytes:
    label, body = block.groups()
    if b":" in body:
        return block[0]  # headers of the old encrypted form: its lines mean something
    packed = b"".join(body.split())
    lines = [packed[i : i + 64] for i in range(0, len(packed), 64)]
    return b"\n".join([b"-----BEGIN %s-----" % label, *lines, b"-----END %s-----\n" % label])


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
