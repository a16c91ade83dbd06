"""How brokers and tools log in to ZooKeeper; against a real ensemble: tests/integration."""

from pathlib import Path

import pytest

from kafkalike.config.broker.zookeeper import ZookeeperKeys
from kafkalike.config.errors import ConfigError
from kafkalike.security.zookeeper import check_set_acl, login_from, tls_from
from kafkalike.zk.client_security import NO_SECURITY, ZkClientSecurity, ZkLogin, ZkTls
from kafkalike.zk.embedded.lock import write_jaas_file
from tests.support.certificates import Authority

JAAS = """
Client {
    org.apache.zookeeper.server.auth.DigestLoginModule required
    username="kafka" password="a \\"word\\"";
};
Other { x.Y required username=other password=word; };
"""


def options(path: Path, *more: str) -> dict[str, str]:
    words = (f"-Djava.security.auth.login.config={path}", *more, "-Xmx1g")
    return {"KAFKA_OPTS": " ".join(words)}


@pytest.fixture
def jaas(tmp_path: Path) -> Path:
    path = tmp_path / "jaas.conf"
    path.write_text(JAAS)
    return path


def tls_keys(**properties: str) -> ZookeeperKeys:
    given = {f"zookeeper.ssl.{name.replace('_', '.')}": value for name, value in properties.items()}
    return ZookeeperKeys(**ZookeeperKeys.parse(given))


def test_login_is_in_the_file_that_kafka_opts_names(jaas: Path) -> None:
    assert login_from(options(jaas)) == ZkLogin("kafka", 'a "word"')
    other = options(jaas, "-Dzookeeper.sasl.clientconfig=Other")
    assert login_from(other) == ZkLogin("other", "word")


def test_without_file_or_section_or_wish_there_is_no_login(jaas: Path) -> None:
    assert login_from({}) is None
    assert login_from(options(jaas, "-Dzookeeper.sasl.clientconfig=None")) is None
    assert login_from(options(jaas, "-Dzookeeper.sasl.client=false")) is None


def test_file_that_cannot_be_read_or_is_for_kerberos_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the JAAS file"):
        login_from(options(tmp_path / "none"))
    kerberos = tmp_path / "kerberos.conf"
    kerberos.write_text("Client { com.sun.security.auth.module.Krb5LoginModule required; };")
    with pytest.raises(ConfigError, match="no Kerberos here"):
        login_from(options(kerberos))


def test_file_of_a_locked_ensemble_has_one_password_and_keeps_it(tmp_path: Path) -> None:
    write_jaas_file(tmp_path)
    first = login_from(options(tmp_path / "jaas.conf"))
    write_jaas_file(tmp_path)
    assert first is not None
    assert login_from(options(tmp_path / "jaas.conf")) == first
    assert (tmp_path / "jaas.conf").stat().st_mode & 0o777 == 0o600
    assert f'user_{first.username}="{first.password}"' in (tmp_path / "jaas.conf").read_text()


def test_stores_are_handed_on_in_memory(tmp_path: Path) -> None:
    authority = Authority.new()
    store = authority.issue("broker").write(tmp_path / "broker.pem")
    assert tls_from(tls_keys(keystore_location=str(store))) is None
    tls = tls_from(tls_keys(client_enable="true", keystore_location=str(store)))
    assert tls is not None
    assert tls.key_store is not None
    assert "BEGIN PRIVATE KEY" in Path(tls.key_store).read_text()
    assert "PRIVATE" not in repr(tls)


def test_znodes_of_ones_own_need_a_name() -> None:
    with pytest.raises(ConfigError, match="nothing says who this broker is"):
        check_set_acl(True, NO_SECURITY)
    with pytest.raises(ConfigError, match="nothing says who this broker is"):
        check_set_acl(True, ZkClientSecurity(tls=ZkTls(trust_store="ca.pem")))
    check_set_acl(False, NO_SECURITY)
    check_set_acl(True, ZkClientSecurity(login=ZkLogin("a", "b")))
    check_set_acl(True, ZkClientSecurity(tls=ZkTls(key_store="a.pem")))


def test_password_is_not_printed() -> None:
    assert "secret" not in repr(ZkClientSecurity(login=ZkLogin("kafka", "secret")))
