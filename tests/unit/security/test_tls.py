import ssl
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

from kafkalike.config.errors import ConfigError
from kafkalike.security.tls import client_context, read_tls_settings, server_context, tls_config
from kafkalike.security.tls_ciphers import cipher_list
from tests.support.certificates import Authority, Certificate


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority.new()


@pytest.fixture(scope="module")
def broker(authority: Authority) -> Certificate:
    return authority.issue("broker")


def served(properties: dict[str, str]) -> ssl.SSLContext:
    return server_context(read_tls_settings(tls_config(properties)))


def shaken(
    server: ssl.SSLContext, client: ssl.SSLContext, host: str = "localhost"
) -> ssl.SSLObject:
    """Let two contexts shake hands in memory; returns the client's side."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    left = client.wrap_bio(to_client, to_server, server_hostname=host)
    right = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(6):
        for side in (left, right):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return left


def trusting(authority: Authority, **properties: str) -> ssl.SSLContext:
    given = {"ssl.truststore.certificates": authority.certificate_pem, **properties}
    return client_context(read_tls_settings(tls_config(given)))


def test_pem_texts_make_a_listener(authority: Authority, broker: Certificate) -> None:
    server = served(
        {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.key": broker.key_pem(),
            "ssl.keystore.certificate.chain": broker.certificate_pem,
        }
    )
    assert shaken(server, trusting(authority)).version() == "TLSv1.3"


def test_pem_texts_may_have_blanks_for_line_ends(authority: Authority, broker: Certificate) -> None:
    server = served(
        {
            "ssl.keystore.key": broker.key_pem().replace("\n", " "),
            "ssl.keystore.certificate.chain": broker.certificate_pem.replace("\n", " "),
        }
    )
    assert shaken(server, trusting(authority)).version() == "TLSv1.3"


def test_a_pem_file_may_have_an_encrypted_key(
    authority: Authority, broker: Certificate, tmp_path: Path
) -> None:
    path = str(broker.write(tmp_path / "broker.pem", "changeit"))
    server = served({"ssl.keystore.location": path, "ssl.key.password": "changeit"})
    assert shaken(server, trusting(authority)).version() == "TLSv1.3"
    for wrong in ({}, {"ssl.key.password": "wrong"}):
        with pytest.raises(ConfigError, match="keys and certificates cannot be used"):
            served({"ssl.keystore.location": path, **wrong})


def test_a_pkcs12_file_is_a_key_store_and_a_trust_store(
    authority: Authority, broker: Certificate, tmp_path: Path
) -> None:
    secret = BestAvailableEncryption(b"changeit")
    keys, trust = tmp_path / "keys.p12", tmp_path / "trust.p12"
    keys.write_bytes(
        pkcs12.serialize_key_and_certificates(b"b", broker.key, broker.certificate, None, secret)
    )
    trust.write_bytes(
        pkcs12.serialize_key_and_certificates(None, None, None, [authority.certificate], secret)
    )
    password = {"ssl.keystore.password": "changeit", "ssl.truststore.password": "changeit"}
    server = served({"ssl.keystore.location": str(keys), "ssl.keystore.type": "PKCS12", **password})
    client = client_context(
        read_tls_settings(tls_config({"ssl.truststore.location": str(trust), **password}))
    )
    assert shaken(server, client).version() == "TLSv1.3"
    with pytest.raises(ConfigError, match="cannot be opened"):
        served({"ssl.keystore.location": str(keys), "ssl.keystore.password": "wrong"})


def test_javas_own_format_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "keys.jks"
    path.write_bytes(bytes.fromhex("feedfeed00000002"))
    with pytest.raises(ConfigError, match="keytool -importkeystore -deststoretype pkcs12"):
        served({"ssl.keystore.location": str(path)})


def test_a_key_that_is_not_the_certificates_is_refused(authority: Authority) -> None:
    key, chain = authority.issue("a").key_pem(), authority.issue("b").certificate_pem
    with pytest.raises(ConfigError):
        served({"ssl.keystore.key": key, "ssl.keystore.certificate.chain": chain})


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"ssl.keystore.key": "x"},
        {"ssl.keystore.location": "/nowhere/keys.pem"},
        {"ssl.enabled.protocols": "SSLv3"},
        {"ssl.keystore.key": "x", "ssl.keystore.certificate.chain": "y"},
    ],
)
def test_settings_that_make_no_listener_are_refused(properties: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        served(properties)


def test_the_version_is_what_both_sides_have(authority: Authority, broker: Certificate) -> None:
    given = {
        "ssl.keystore.key": broker.key_pem(),
        "ssl.keystore.certificate.chain": broker.certificate_pem,
    }
    old = trusting(authority, **{"ssl.enabled.protocols": "TLSv1.2"})
    assert shaken(served(given), old).version() == "TLSv1.2"
    with pytest.raises(ssl.SSLError):
        shaken(served({**given, "ssl.enabled.protocols": "TLSv1.3"}), old)


def test_a_certificate_for_another_host_is_refused(authority: Authority) -> None:
    other = authority.issue("broker", hosts=("other.example",))
    server = served(
        {
            "ssl.keystore.key": other.key_pem(),
            "ssl.keystore.certificate.chain": other.certificate_pem,
        }
    )
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        shaken(server, trusting(authority))
    unchecked = trusting(authority, **{"ssl.endpoint.identification.algorithm": ""})
    assert shaken(server, unchecked).version() == "TLSv1.3"


def test_an_expired_certificate_and_a_strange_authority_are_refused(authority: Authority) -> None:
    expired = authority.issue("broker", lifetime=timedelta(days=-1))
    strange = Authority.new("stranger").issue("broker")
    for certificate, why in ((expired, "expired"), (strange, "local issuer")):
        server = served(
            {
                "ssl.keystore.key": certificate.key_pem(),
                "ssl.keystore.certificate.chain": certificate.certificate_pem,
            }
        )
        with pytest.raises(ssl.SSLCertVerificationError, match=why):
            shaken(server, trusting(authority))


def test_settings_show_no_secret(broker: Certificate) -> None:
    settings = read_tls_settings(
        tls_config(
            {
                "ssl.keystore.key": broker.key_pem(),
                "ssl.keystore.certificate.chain": broker.certificate_pem,
            }
        )
    )
    assert "PRIVATE" not in repr(settings)
    assert "PRIVATE" not in repr(settings.key_store)


@pytest.mark.parametrize(
    ("java", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384", "ECDHE-ECDSA-AES256-SHA384"),
        ("TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
        ("TLS_AES_256_GCM_SHA384", "DEFAULT"),
        ("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
    ],
)
def test_javas_names_of_ciphers_are_understood(java: str, openssl: str) -> None:
    assert cipher_list([java]) == openssl
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).set_ciphers(cipher_list([java]))
