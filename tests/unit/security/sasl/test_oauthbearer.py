import hashlib
import hmac
import json
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from kafkalike.config.errors import ConfigError
from kafkalike.protocol.errors import SaslAuthenticationError
from kafkalike.security.sasl.jwt import IllegalTokenError, unsecured_jwt
from kafkalike.security.sasl.mechanism import SaslError
from kafkalike.security.sasl.oauth_options import (
    login_extensions,
    token_validator,
    unsecured_login,
)
from kafkalike.security.sasl.oauthbearer import OAuthBearerClient, OAuthBearerServer

NOW_MS = 1_700_000_000_000
CLAIMS = {"sub": "carol", "iat": NOW_MS / 1000 - 1, "exp": NOW_MS / 1000 + 60}


def now_ms() -> int:
    return NOW_MS


def encoded(value: Any) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def signed(algorithm: str, sign: Any, claims: dict[str, Any] = CLAIMS, **header: Any) -> str:
    text = f"{encoded({'alg': algorithm, **header})}.{encoded(claims)}"
    return f"{text}.{encoded(sign(text.encode()))}"


def hs256(secret: bytes) -> Any:
    return lambda text: hmac.digest(secret, text, "sha256")


def test_an_unsecured_token_says_who_it_is() -> None:
    server = OAuthBearerServer(token_validator({}, now_ms))
    client = OAuthBearerClient(
        unsecured_login({"unsecuredLoginStringClaim_sub": "carol"}, now_ms), {"traceId": "1"}
    )
    assert server.evaluate(client.evaluate(b"")) == b""
    assert server.authorization_id == "carol"
    assert server.expires_at_ms == NOW_MS + 3_600_000
    assert client.evaluate(b"") == b""
    assert client.is_complete


def test_a_bad_token_is_answered_with_json_and_then_refused() -> None:
    server = OAuthBearerServer(token_validator({}, now_ms))
    client = OAuthBearerClient(lambda: unsecured_jwt({**CLAIMS, "exp": 1}), {})
    answer = server.evaluate(client.evaluate(b""))
    assert answer == b'{"status":"invalid_token"}'
    assert client.evaluate(answer) == b"\x01"
    with pytest.raises(SaslAuthenticationError, match="invalid_token"):
        server.evaluate(b"\x01")
    assert not server.is_complete


def test_a_missing_scope_is_named() -> None:
    options = {"unsecuredValidatorRequiredScope": "read write"}
    server = OAuthBearerServer(token_validator(options, now_ms))
    client = OAuthBearerClient(lambda: unsecured_jwt({**CLAIMS, "scope": ["read"]}), {})
    answer = json.loads(server.evaluate(client.evaluate(b"")))
    assert answer == {"status": "insufficient_scope", "scope": "[read, write]"}


@pytest.mark.parametrize(
    "message",
    [b"", b"n,,\x01auth=Basic abc\x01\x01", b"n,,\x01a=b\x01\x01", b"y,,\x01auth=Bearer a\x01\x01"],
)
def test_a_message_that_has_no_token_is_refused(message: bytes) -> None:
    with pytest.raises(SaslError):
        OAuthBearerServer(token_validator({}, now_ms)).evaluate(message)


def test_an_authorization_id_must_be_the_tokens_principal() -> None:
    server = OAuthBearerServer(token_validator({}, now_ms))
    message = f"n,a=dave,\x01auth=Bearer {unsecured_jwt(CLAIMS)}\x01\x01".encode()
    with pytest.raises(SaslAuthenticationError, match=r"\(dave\) that is different"):
        server.evaluate(message)


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": CLAIMS["exp"]},
        {"sub": "carol"},
        {"sub": 5, "exp": CLAIMS["exp"]},
        {**CLAIMS, "exp": "soon"},
        {**CLAIMS, "iat": NOW_MS / 1000 + 10},
        {**CLAIMS, "nbf": NOW_MS / 1000 + 10},
        {**CLAIMS, "exp": NOW_MS / 1000},
        {"sub": "carol", "iat": 10, "exp": 5},
    ],
)
def test_claims_that_do_not_hold_are_refused(claims: dict[str, Any]) -> None:
    with pytest.raises(IllegalTokenError):
        token_validator({}, now_ms)(unsecured_jwt(claims))


def test_clock_skew_is_allowed_for() -> None:
    options = {"unsecuredValidatorAllowableClockSkewMs": "2000"}
    late = unsecured_jwt({**CLAIMS, "exp": NOW_MS / 1000 - 0.5})
    assert token_validator(options, now_ms)(late).principal == "carol"


@pytest.mark.parametrize("token", ["", "a.b", "a.b.c", "!.!.!", f"{encoded([])}.{encoded({})}."])
def test_what_is_no_token_is_refused(token: str) -> None:
    with pytest.raises(IllegalTokenError):
        token_validator({}, now_ms)(token)


def test_a_signature_is_not_taken_on_trust() -> None:
    with pytest.raises(IllegalTokenError, match="no key is set"):
        token_validator({}, now_ms)(signed("HS256", hs256(b"secret")))


def test_a_shared_secret_is_checked() -> None:
    validate = token_validator({"signedValidatorSecret": "secret"}, now_ms)
    assert validate(signed("HS256", hs256(b"secret"))).principal == "carol"
    with pytest.raises(IllegalTokenError):
        validate(signed("HS256", hs256(b"other")))
    with pytest.raises(IllegalTokenError):
        validate(unsecured_jwt(CLAIMS))


def test_an_rsa_key_is_checked_and_is_never_a_secret(tmp_path: Path) -> None:
    key = rsa.generate_private_key(65537, 2048)
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "key.pem").write_bytes(public)
    validate = token_validator({"signedValidatorKeyFile": str(tmp_path / "key.pem")}, now_ms)
    token = signed("RS256", lambda text: key.sign(text, padding.PKCS1v15(), hashes.SHA256()))
    assert validate(token).principal == "carol"
    with pytest.raises(IllegalTokenError):
        validate(token[:-8] + "AAAAAAAA")
    # The old trick: sign with the public key, which everybody has, as if it were a secret.
    with pytest.raises(IllegalTokenError):
        validate(signed("HS256", hs256(public)))


def test_a_jwk_set_is_searched_by_key_id(tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    numbers = key.public_key().public_numbers()
    jwk = {
        "kty": "EC",
        "crv": "P-256",
        "kid": "k1",
        "x": encoded(numbers.x.to_bytes(32)),
        "y": encoded(numbers.y.to_bytes(32)),
    }
    other = {"kty": "oct", "kid": "k2", "k": encoded(b"secret")}
    (tmp_path / "jwks.json").write_text(json.dumps({"keys": [other, jwk]}))
    validate = token_validator({"signedValidatorKeyFile": str(tmp_path / "jwks.json")}, now_ms)

    def sign(text: bytes) -> bytes:
        r, s = decode_dss_signature(key.sign(text, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32) + s.to_bytes(32)

    assert validate(signed("ES256", sign, kid="k1")).principal == "carol"
    assert validate(signed("HS256", hs256(b"secret"), kid="k2")).principal == "carol"
    with pytest.raises(IllegalTokenError):
        validate(signed("ES256", sign, kid="k3"))


def test_issuer_and_audience_are_checked_if_set() -> None:
    options = {
        "signedValidatorSecret": "secret",
        "signedValidatorIssuer": "https://idp",
        "signedValidatorAudience": "kafka",
    }
    validate = token_validator(options, now_ms)
    good = {**CLAIMS, "iss": "https://idp", "aud": ["kafka", "web"]}
    assert validate(signed("HS256", hs256(b"secret"), good)).principal == "carol"
    for bad in ({**good, "iss": "https://evil"}, {**good, "aud": "web"}, CLAIMS):
        with pytest.raises(IllegalTokenError):
            validate(signed("HS256", hs256(b"secret"), bad))


def test_a_key_file_that_is_none_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("nothing")
    with pytest.raises(ConfigError, match=str(tmp_path / "key")):
        token_validator({"signedValidatorKeyFile": str(tmp_path / "key")}, now_ms)


def test_a_login_makes_claims_of_all_kinds() -> None:
    options = {
        "unsecuredLoginStringClaim_sub": "carol",
        "unsecuredLoginNumberClaim_level": "3",
        "unsecuredLoginListClaim_scope": "|read|write",
        "unsecuredLoginExtension_traceId": "7",
    }
    checked = {"unsecuredValidatorRequiredScope": "write"}
    token = unsecured_login(options, now_ms)()
    assert token_validator(checked, now_ms)(token).principal == "carol"
    assert login_extensions(options) == {"traceId": "7"}
    with pytest.raises(ConfigError, match="unsecuredLoginStringClaim_sub"):
        unsecured_login({}, now_ms)


def test_the_hash_of_a_secret_is_not_the_secret() -> None:
    digest = hashlib.sha256(b"secret").digest()
    with pytest.raises(IllegalTokenError):
        token_validator({"signedValidatorSecret": "secret"}, now_ms)(signed("HS256", hs256(digest)))
