"""TLS contexts from Kafka's `ssl.*` settings (Kafka's DefaultSslEngineFactory).

They are contexts of Python's own `ssl`: it is there already, and does more of the work in C than
pyOpenSSL. The settings are the same for brokers and clients; each side adds what it needs.
"""

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kafkalike.config.broker.tls import TlsKeys
from kafkalike.config.errors import ConfigError
from kafkalike.config.value_types import Password
from kafkalike.security.tls_ciphers import cipher_list
from kafkalike.security.tls_stores import (
    KeyStore,
    key_store_of_pem,
    read_key_store,
    read_trust_store,
    trust_store_of_pem,
)

_VERSIONS: Final = {
    "TLSv1": ssl.TLSVersion.TLSv1,
    "TLSv1.1": ssl.TLSVersion.TLSv1_1,
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}
_CLIENT_AUTH: Final = {
    "required": ssl.CERT_REQUIRED,
    "requested": ssl.CERT_OPTIONAL,
    "none": ssl.CERT_NONE,
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TlsSettings:
    """What was read from the settings and files of one side; equal if nothing has changed."""

    key_store: KeyStore | None
    trust_store: bytes | None
    versions: tuple[str, ...]
    cipher_suites: tuple[str, ...]
    client_auth: str
    checks_host_name: bool


def read_tls_settings(config: TlsKeys) -> TlsSettings:
    """Read keys and certificates, or raise a `ConfigError`."""
    unknown = set(config.ssl_enabled_protocols) - _VERSIONS.keys()
    if unknown or not config.ssl_enabled_protocols:
        raise ConfigError(f"ssl.enabled.protocols knows {', '.join(_VERSIONS)}, not {unknown}")
    return TlsSettings(
        key_store=_key_store(config),
        trust_store=_trust_store(config),
        versions=config.ssl_enabled_protocols,
        cipher_suites=config.ssl_cipher_suites,
        client_auth=config.ssl_client_auth,
        checks_host_name=bool(config.ssl_endpoint_identification_algorithm),
    )


def tls_config(properties: Mapping[str, str]) -> TlsKeys:
    """Read the `ssl.*` properties of a client."""
    return TlsKeys(**TlsKeys.parse(properties))


def server_context(settings: TlsSettings) -> ssl.SSLContext:
    """Make the context of a listener."""
    if settings.key_store is None:
        raise ConfigError(
            "a TLS listener needs a key and a certificate: set ssl.keystore.location, or "
            "ssl.keystore.key and ssl.keystore.certificate.chain"
        )
    context = _context(ssl.PROTOCOL_TLS_SERVER, settings)
    context.verify_mode = _CLIENT_AUTH[settings.client_auth]
    return context


def client_context(settings: TlsSettings) -> ssl.SSLContext:
    """Make the context of who connects: the server's certificate is always verified."""
    context = _context(ssl.PROTOCOL_TLS_CLIENT, settings)
    context.check_hostname = settings.checks_host_name
    return context


def _context(protocol: int, settings: TlsSettings) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    versions = sorted(_VERSIONS[name] for name in settings.versions)
    context.minimum_version, context.maximum_version = versions[0], versions[-1]
    try:
        if settings.cipher_suites:
            context.set_ciphers(cipher_list(settings.cipher_suites))
        if settings.key_store is not None:
            _use_key(context, settings.key_store)
        if settings.trust_store is None:
            context.load_default_certs()
        else:
            context.load_verify_locations(cadata=settings.trust_store.decode())
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(f"keys and certificates cannot be used: {error}") from error
    return context


def _use_key(context: ssl.SSLContext, store: KeyStore) -> None:
    # Python takes keys from files only: one in memory, that nobody else can open.
    descriptor = os.memfd_create("key", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, store.pem)
        # An empty password, for without any OpenSSL would ask at the terminal.
        context.load_cert_chain(f"/proc/self/fd/{descriptor}", password=store.password or "")
    finally:
        os.close(descriptor)


def _key_store(config: TlsKeys) -> KeyStore | None:
    key, chain = _text(config.ssl_keystore_key), _text(config.ssl_keystore_certificate_chain)
    password = _text(config.ssl_key_password)
    if (key is None) != (chain is None):
        raise ConfigError("ssl.keystore.key and ssl.keystore.certificate.chain go together")
    if key is not None and chain is not None:
        if config.ssl_keystore_location is not None:
            raise ConfigError("ssl.keystore.location and ssl.keystore.key cannot both be set")
        return key_store_of_pem(key, chain, password)
    if config.ssl_keystore_location is None:
        return None
    return read_key_store(
        config.ssl_keystore_location,
        config.ssl_keystore_type,
        _text(config.ssl_keystore_password),
        password,
    )


def _trust_store(config: TlsKeys) -> bytes | None:
    text = _text(config.ssl_truststore_certificates)
    if text is not None:
        return trust_store_of_pem(text)
    if config.ssl_truststore_location is None:
        return None
    return read_trust_store(
        config.ssl_truststore_location,
        config.ssl_truststore_type,
        _text(config.ssl_truststore_password),
    )


def _text(password: Password | None) -> str | None:
    return None if password is None else password.value
