"""A locked ensemble: who logs in (SASL) may work with it, and nobody else may even look.

M74: what brokers keep in ZooKeeper is theirs alone.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.zk.embedded.ensemble import Ensemble
from kafkalike.zk.embedded.lock import JAAS_FILE
from tests.support import wire
from tests.support.broker import Broker
from tests.support.certificates import Authority
from tests.support.ensemble import ensemble_config
from tests.support.new_broker import STARTED
from tests.support.ports import free_port

pytestmark = pytest.mark.ensemble
pytest.importorskip("puresasl", reason="SASL to ZooKeeper needs pip install 'kafkalike[tls]'")

MINE = ("31 auth ", "31 sasl kafka")


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ensemble]:
    """Three servers with a lock."""
    directory = tmp_path_factory.mktemp("locked")
    ensemble = Ensemble.create(directory, replace(ensemble_config(3), is_locked=True))
    ensemble.start()
    yield ensemble
    ensemble.stop()


@pytest.fixture(scope="module")
def key(locked: Ensemble) -> dict[str, str]:
    """The environment of those who have the key."""
    assert locked.jaas_file is not None
    assert locked.jaas_file.stat().st_mode & 0o077 == 0, "the password is for the owner's eyes only"
    return {"KAFKA_OPTS": f"-Djava.security.auth.login.config={locked.jaas_file}"}


def tool(
    name: str, *arguments: str, env: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "kafkalike.cli.tools", name, *arguments]
    return subprocess.run(
        command, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=90
    )


def acl_of(connect: str, path: str, env: dict[str, str]) -> str:
    return tool("zookeeper-shell", connect, "getAcl", path, env=env).stdout


@pytest.fixture(scope="module")
def broker(
    locked: Ensemble, key: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    """A broker whose znodes are its own."""
    started = Broker(
        tmp_path_factory.mktemp("broker"),
        f"{locked.connect_string}/own",
        properties={
            "zookeeper.set.acl": "true",
            "offsets.topic.replication.factor": "1",
            "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
            "allow.everyone.if.no.acl.found": "true",
        },
        env=key,
    )
    started.start()
    started.wait_for_log(STARTED)
    yield started
    started.terminate()


def test_broker_with_the_key_serves_and_keeps_its_znodes_for_itself(
    broker: Broker, locked: Ensemble, key: dict[str, str]
) -> None:
    with SimpleClient("127.0.0.1", broker.port) as client:
        topic = wire.create_topic(client)
        assert wire.append(client, topic, b"x") == 0
    connect = f"{locked.connect_string}/own"
    for path in ("/", "/brokers/topics", f"/brokers/topics/{topic}", "/brokers/ids/1"):
        assert "'sasl,'kafka\n: cdrwa" in acl_of(connect, path, key), path
        assert "'world,'anyone\n: r\n" in acl_of(connect, path, key), path
    sensitive = acl_of(connect, "/config/users", key)
    assert "'sasl,'kafka\n: cdrwa" in sensitive
    assert "world" not in sensitive
    password = (locked.directory / JAAS_FILE).read_text().split('password="')[1].split('"')[0]
    assert password not in broker.log.read_text()


def test_who_has_no_key_may_not_even_look(broker: Broker, locked: Ensemble) -> None:
    done = tool("zookeeper-shell", locked.connect_string, "ls", "/")
    assert done.returncode == 1
    assert "own" not in done.stdout


def test_broker_without_the_key_or_with_a_wrong_one_says_so_and_ends(
    locked: Ensemble, key: dict[str, str], tmp_path: Path
) -> None:
    needs_key = Broker(
        tmp_path / "a", locked.connect_string, properties={"zookeeper.set.acl": "true"}
    )
    needs_key.start_without_waiting()
    assert needs_key.wait(30) == 1
    assert "zookeeper.set.acl is true, but nothing says who this broker is" in needs_key.tail()
    wrong = tmp_path / "jaas.conf"
    wrong.write_text(
        (locked.directory / JAAS_FILE).read_text().replace('password="', 'password="x')
    )
    env = {"KAFKA_OPTS": f"-Djava.security.auth.login.config={wrong}"}
    stranger = Broker(tmp_path / "b", locked.connect_string, env=env)
    stranger.start_without_waiting()
    assert stranger.wait(30) == 1
    assert "ZooKeeper does not accept the login" in stranger.tail()


def test_session_outlives_the_servers_one_by_one(
    broker: Broker, locked: Ensemble, key: dict[str, str]
) -> None:
    """A server that dies is no login that is refused: the broker goes to another one."""
    for server in locked.servers:
        server.kill()
        with SimpleClient("127.0.0.1", broker.port) as client:
            wire.create_topic(client)
        server.start()
        locked.wait_until_serving()


def test_znodes_of_an_open_cluster_are_locked_and_opened_again(
    locked: Ensemble, key: dict[str, str], tmp_path: Path
) -> None:
    """`zookeeper-security-migration`."""
    connect = f"{locked.connect_string}/open"
    open_broker = Broker(tmp_path, connect, env=key)
    open_broker.start()
    open_broker.wait_for_log(STARTED)
    open_broker.terminate()
    assert "'world,'anyone\n: cdrwa" in acl_of(connect, "/brokers/ids", key)
    options = ("--zookeeper.connect", connect, "--zookeeper.acl")
    no_key = tool("zookeeper-security-migration", *options, "secure")
    assert no_key.returncode == 1
    assert "Cannot secure znodes" in no_key.stdout
    done = tool("zookeeper-security-migration", *options, "secure", env=key)
    assert done.returncode == 0, done.stderr
    assert "'sasl,'kafka\n: cdrwa" in acl_of(connect, "/brokers/ids", key)
    assert "world" not in acl_of(connect, "/config/users", key)
    assert tool("zookeeper-security-migration", *options, "unsecure", env=key).returncode == 0
    assert "'world,'anyone\n: cdrwa" in acl_of(connect, "/config/users", key)


def test_acls_are_changed_in_zookeeper_and_brokers_hear_of_it(
    broker: Broker, locked: Ensemble, key: dict[str, str]
) -> None:
    """`kafka-acls --authorizer-properties zookeeper.connect=...`."""
    authorizer = f"zookeeper.connect={locked.connect_string}/own"
    who = ("--allow-principal", "User:bob", "--producer", "--topic", "orders")
    done = tool("kafka-acls", "--authorizer-properties", authorizer, "--add", *who, env=key)
    assert done.returncode == 0, done.stdout + done.stderr
    bootstrap = ("--bootstrap-server", broker.bootstrap_servers)
    listed = tool("kafka-acls", *bootstrap, "--list")
    through_zookeeper = tool("kafka-acls", "--authorizer-properties", authorizer, "--list", env=key)
    assert "principal=User:bob, host=*, operation=WRITE" in listed.stdout
    assert sorted(through_zookeeper.stdout.split("\n")) == sorted(listed.stdout.split("\n"))


def test_broker_comes_by_tls_with_a_certificate_of_its_own(tmp_path: Path) -> None:
    """`zookeeper.ssl.*`: also the znodes can belong to who has the certificate."""
    authority = Authority.new()
    broker_store = authority.issue("broker").write(tmp_path / "broker.pem")
    server_store = authority.issue("zookeeper").write(tmp_path / "zookeeper.pem")
    ca = tmp_path / "ca.pem"
    ca.write_text(authority.certificate_pem)
    port = free_port()
    ensemble = Ensemble.create(tmp_path / "zk", ensemble_config(1))
    with (ensemble.servers[0].home / "zoo.cfg").open("a") as zoo_cfg:
        zoo_cfg.write(
            "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\n"
            "authProvider.x509=org.apache.zookeeper.server.auth.X509AuthenticationProvider\n"
            f"secureClientPort={port}\nssl.keyStore.location={server_store}\n"
            f"ssl.trustStore.location={ca}\n"
        )
    ensemble.start()
    try:
        tls = {
            "zookeeper.ssl.client.enable": "true",
            "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
            "zookeeper.ssl.truststore.location": str(ca),
            "zookeeper.ssl.keystore.location": str(broker_store),
        }
        settings = {**tls, "zookeeper.set.acl": "true"}
        broker = Broker(tmp_path / "broker", f"127.0.0.1:{port}/tls", properties=settings)
        broker.start()
        broker.wait_for_log(STARTED)
        config = tmp_path / "tls.properties"
        config.write_text("".join(f"{key}={value}\n" for key, value in tls.items()))
        looked = tool(
            "zookeeper-shell",
            f"127.0.0.1:{port}/tls",
            "-zk-tls-config-file",
            str(config),
            "getAcl",
            "/brokers/ids",
        )
        broker.terminate()
        assert "'x509,'CN=broker\n: cdrwa" in looked.stdout, looked.stderr
    finally:
        ensemble.stop()
