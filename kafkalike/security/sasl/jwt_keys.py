"""The keys that sign tokens: a secret, a PEM file or a JWK set (RFC 7517, 7518).

HS, RS, PS and ES with 256, 384 and 512 bits. `cryptography` is loaded with the first public key.
"""

import hmac
import json
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kafkalike.config.errors import ConfigError
from kafkalike.security.cryptography_door import load
from kafkalike.security.sasl.jwt import IllegalTokenError, Jwt

_CURVES: Final = {"P-256": "SECP256R1", "P-384": "SECP384R1", "P-521": "SECP521R1"}
_BITS: Final = ("256", "384", "512")
_PRIMITIVES: Final = "hazmat.primitives"

Verify = Callable[[str, bytes, bytes], bool]
"""Whether (algorithm, what is signed, signature) go together."""


@dataclass(frozen=True, slots=True, repr=False)
class JwtKey:
    """One key: its id if it has one, the letters of the algorithms that it can be used with."""

    key_id: str | None
    families: tuple[str, ...]
    verify: Verify


def check_signature(token: Jwt, keys: Sequence[JwtKey]) -> None:
    """Raise `IllegalTokenError` unless one of the keys signed the token."""
    family, bits = token.algorithm[:2], token.algorithm[2:]
    key_id = token.header.get("kid")
    for key in keys:
        # The kind of the key decides what the token may say, never the other way round.
        if family not in key.families or bits not in _BITS:
            continue
        if key_id is not None and key.key_id is not None and key_id != key.key_id:
            continue
        if key.verify(token.algorithm, token.signed, token.signature):
            return
    raise IllegalTokenError(f"no known key has signed the token (alg {token.algorithm})")


def secret_key(secret: bytes, key_id: str | None = None) -> JwtKey:
    """Make a key of a secret that both sides have."""

    def verify(algorithm: str, signed: bytes, signature: bytes) -> bool:
        expected = hmac.digest(secret, signed, f"sha{algorithm[2:]}")
        return hmac.compare_digest(expected, signature)

    return JwtKey(key_id, ("HS",), verify)


def read_keys(data: bytes) -> list[JwtKey]:
    """Read a JWK set or PEM: public keys or certificates."""
    if data.lstrip().startswith(b"{"):
        found = json.loads(data)
        return [_jwk(entry) for entry in found.get("keys", [found])]
    if b"BEGIN CERTIFICATE" in data:
        certificates = _load("x509").load_pem_x509_certificates(data)
        return [_public_key(certificate.public_key(), None) for certificate in certificates]
    return [_public_key(_load(f"{_PRIMITIVES}.serialization").load_pem_public_key(data), None)]


def _load(module: str) -> Any:
    return load(module, "checking tokens that are signed with a private key")


def _asymmetric(kind: str) -> Any:
    return _load(f"{_PRIMITIVES}.asymmetric.{kind}")


def _jwk(entry: Mapping[str, Any]) -> JwtKey:
    key_id, kind = entry.get("kid"), entry.get("kty")
    if kind == "oct":
        return secret_key(_bytes(entry["k"]), key_id)
    if kind == "RSA":
        numbers = _asymmetric("rsa").RSAPublicNumbers(_number(entry["e"]), _number(entry["n"]))
        return _public_key(numbers.public_key(), key_id)
    if kind == "EC" and entry.get("crv") in _CURVES:
        ec = _asymmetric("ec")
        curve = getattr(ec, _CURVES[entry["crv"]])()
        point = ec.EllipticCurvePublicNumbers(_number(entry["x"]), _number(entry["y"]), curve)
        return _public_key(point.public_key(), key_id)
    raise ConfigError(f"a key of kind {kind} cannot check tokens: oct, RSA and EC can")


def _public_key(key: Any, key_id: str | None) -> JwtKey:  # Any: one of many classes
    if isinstance(key, _asymmetric("rsa").RSAPublicKey):
        return JwtKey(key_id, ("RS", "PS"), _rsa_verify(key))
    if isinstance(key, _asymmetric("ec").EllipticCurvePublicKey):
        return JwtKey(key_id, ("ES",), _ec_verify(key))
    raise ConfigError(f"{type(key).__name__} cannot check tokens: RSA and EC keys can")


def _rsa_verify(key: Any) -> Verify:
    invalid_signature = _load("exceptions").InvalidSignature
    hashes, padding = _load(f"{_PRIMITIVES}.hashes"), _asymmetric("padding")

    def verify(algorithm: str, signed: bytes, signature: bytes) -> bool:
        digest = getattr(hashes, f"SHA{algorithm[2:]}")()
        pad: Any = padding.PKCS1v15()
        if algorithm.startswith("PS"):
            pad = padding.PSS(padding.MGF1(digest), padding.PSS.DIGEST_LENGTH)
        try:
            key.verify(signature, signed, pad, digest)
        except invalid_signature:
            return False
        return True

    return verify


def _ec_verify(key: Any) -> Verify:
    invalid_signature = _load("exceptions").InvalidSignature
    hashes, ec = _load(f"{_PRIMITIVES}.hashes"), _asymmetric("ec")
    encode_dss_signature = _asymmetric("utils").encode_dss_signature
    size = (key.curve.key_size + 7) // 8

    def verify(algorithm: str, signed: bytes, signature: bytes) -> bool:
        if len(signature) != 2 * size:
            return False
        r, s = (int.from_bytes(part) for part in (signature[:size], signature[size:]))
        digest = getattr(hashes, f"SHA{algorithm[2:]}")()
        try:
            key.verify(encode_dss_signature(r, s), signed, ec.ECDSA(digest))
        except invalid_signature:
            return False
        return True

    return verify


def _number(text: str) -> int:
    return int.from_bytes(_bytes(text))


def _bytes(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
