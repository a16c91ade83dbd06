"""How brokers and tools log in to ZooKeeper: Kafka's settings and its JAAS file.

The JAAS file is named as for Kafka, by `-Djava.security.auth.login.config=FILE` in the environment
variable KAFKA_OPTS; its section `Client` has the name and the password (DIGEST-MD5). TLS is set up
by `zookeeper.ssl.*`, of the broker or of the file that a tool gets by `--zk-tls-config-file`.
"""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

from kafkalike.config.errors import ConfigError
from kafkalike.config.value_types import Password
from kafkalike.security.sasl.jaas import parse_jaas_file
from kafkalike.security.tls_stores import read_key_store, read_trust_store
from kafkalike.zk.client_security import ZkClientSecurity, ZkLogin, ZkTls

OPTIONS_VARIABLE: Final = "KAFKA_OPTS"
_LOGIN_CONFIG: Final = "java.security.auth.login.config"
_SECTION: Final = "zookeeper.sasl.clientconfig"
_IS_SASL: Final = "zookeeper.sasl.client"


class ZookeeperTlsKeys(Protocol):
    """The settings of TLS to ZooKeeper, of a broker or of a tool."""

    zookeeper_ssl_client_enable: bool
    zookeeper_ssl_keystore_location: str | None
    zookeeper_ssl_keystore_password: Password | None
    zookeeper_ssl_keystore_type: str | None
    zookeeper_ssl_truststore_location: str | None
    zookeeper_ssl_truststore_password: Password | None
    zookeeper_ssl_truststore_type: str | None
    zookeeper_ssl_endpoint_identification_algorithm: str


def zookeeper_security(
    config: ZookeeperTlsKeys, environment: Mapping[str, str]
) -> ZkClientSecurity:
    """Read what there is, or raise a `ConfigError`."""
    return ZkClientSecurity(login_from(environment), tls_from(config))


def login_from(environment: Mapping[str, str]) -> ZkLogin | None:
    """Read the login of the JAAS file, if one is named and has a section for ZooKeeper."""
    options = dict(
        word[2:].partition("=")[::2]
        for word in shlex.split(environment.get(OPTIONS_VARIABLE, ""))
        if word.startswith("-D")
    )
    path, section = options.get(_LOGIN_CONFIG), options.get(_SECTION, "Client")
    if path is None or options.get(_IS_SASL, "true").lower() == "false":
        return None
    try:
        entries = parse_jaas_file(Path(path).read_text()).get(section)
    except OSError as error:
        raise ConfigError(f"cannot read the JAAS file {path}: {error.strerror}") from error
    if not entries:
        return None
    given = entries[0].options
    if "username" not in given or "password" not in given:
        raise ConfigError(
            f"the section {section} of {path} needs username and password (no Kerberos here)"
        )
    return ZkLogin(given["username"], given["password"])


def tls_from(config: ZookeeperTlsKeys) -> ZkTls | None:
    """Read key and trust store; None where TLS is off."""
    if not config.zookeeper_ssl_client_enable:
        return None
    trust_store = key_store = key_password = None
    if config.zookeeper_ssl_truststore_location is not None:
        trusted = read_trust_store(
            config.zookeeper_ssl_truststore_location,
            config.zookeeper_ssl_truststore_type or "",
            _text(config.zookeeper_ssl_truststore_password),
        )
        trust_store = _in_memory(trusted)
    if config.zookeeper_ssl_keystore_location is not None:
        password = _text(config.zookeeper_ssl_keystore_password)
        store = read_key_store(
            config.zookeeper_ssl_keystore_location,
            config.zookeeper_ssl_keystore_type or "",
            password,
            password,
        )
        key_store, key_password = _in_memory(store.pem), store.password
    return ZkTls(
        trust_store,
        key_store,
        key_password or "",  # without any OpenSSL would ask at the terminal
        checks_host_name=bool(config.zookeeper_ssl_endpoint_identification_algorithm),
    )


def _in_memory(pem: bytes) -> str:
    """Give a path to these bytes that only this process can open, for as long as it lives."""
    descriptor = os.memfd_create("zookeeper", os.MFD_CLOEXEC)
    os.write(descriptor, pem)
    return f"/proc/self/fd/{descriptor}"


def _text(password: Password | None) -> str | None:
    return None if password is None else password.value


def check_set_acl(is_secure: bool, security: ZkClientSecurity) -> None:
    """Raise a `ConfigError` where znodes could not be kept for oneself."""
    has_certificate = security.tls is not None and security.tls.key_store is not None
    if is_secure and security.login is None and not has_certificate:
        raise ConfigError(
            "zookeeper.set.acl is true, but nothing says who this broker is: name a JAAS file with "
            f"a section Client (export {OPTIONS_VARIABLE}=-D{_LOGIN_CONFIG}=FILE), or set "
            "zookeeper.ssl.client.enable and zookeeper.ssl.keystore.location"
        )
