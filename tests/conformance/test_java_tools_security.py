"""Apache Kafka 2.8.2's tools at a broker that asks who they are; and its ACLs in ZooKeeper."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkalike.client import KafkaAdminClient, NewTopic, OffsetSpec, TopicPartition
from kafkalike.client.admin.values import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourceType,
)
from tests.support.apache_kafka import ToolResult
from tests.support.broker import Broker
from tests.support.new_broker import STARTED
from tests.support.secure_site import (
    ADMIN_PASSWORD,
    LOGINS,
    Login,
    SecureSite,
    welcome,
)
from tests.support.target import unique_topic
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.ensemble, pytest.mark.kafka]

Tools = Callable[..., ToolResult]
ADMIN = Login("SECURE", "PLAIN", "admin", ADMIN_PASSWORD)
TIMEOUT_S = 120


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> SecureSite:
    """Certificates and settings."""
    return SecureSite(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def broker(site: SecureSite, broker_factory: Callable[..., Broker]) -> Broker:
    """A broker with a listener of every kind."""
    started = broker_factory(properties=site.properties, is_started=False)
    started.port = site.ports["OPEN"]
    started.start()
    started.wait_for_log(STARTED)
    return started


@pytest.fixture(scope="module")
def admin(site: SecureSite, broker: Broker) -> Iterator[KafkaAdminClient]:
    """The one who may do everything."""
    client = site.admin()
    welcome(client, "alice", "ANONYMOUS")
    yield client
    client.close()


def config_file(site: SecureSite, login: Login, directory: Path, **options: str) -> Path:
    path = directory / "client.properties"
    settings = site.java_settings(login, **options)
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return path


@pytest.mark.parametrize("login", LOGINS, ids=str)
def test_java_client_writes_over_every_kind_of_listener(
    site: SecureSite,
    admin: KafkaAdminClient,
    apache_kafka_tools: Tools,
    login: Login,
    tmp_path: Path,
) -> None:
    topic = unique_topic(login.principal)
    admin.create_topics([NewTopic(topic, 1, 1)])
    done = apache_kafka_tools(
        "kafka.tools.ConsoleProducer",
        "--bootstrap-server",
        site.bootstrap(login.listener),
        "--producer.config",
        config_file(site, login, tmp_path),
        "--topic",
        topic,
        input="hello from Java\n",
        timeout=TIMEOUT_S,
    )
    assert done.exit_code == 0, done.stderr
    assert "ERROR" not in done.stderr
    tp = TopicPartition(topic, 0)
    assert admin.list_offsets({tp: OffsetSpec.LATEST})[tp].offset == 1


def test_java_client_with_a_wrong_password_hears_why(
    site: SecureSite, admin: KafkaAdminClient, apache_kafka_tools: Tools, tmp_path: Path
) -> None:
    login = Login("SECURE", "SCRAM-SHA-512", password="wrong")
    done = apache_kafka_tools(
        "kafka.admin.TopicCommand",
        "--bootstrap-server",
        site.bootstrap("SECURE"),
        "--command-config",
        config_file(site, login, tmp_path),
        "--list",
        timeout=TIMEOUT_S,
    )
    assert done.exit_code == 1
    assert (
        "SaslAuthenticationException: Authentication failed during authentication due to invalid "
        "credentials with SASL mechanism SCRAM-SHA-512" in done.stdout + done.stderr
    )


def test_java_client_comes_by_a_delegation_token(
    site: SecureSite, admin: KafkaAdminClient, apache_kafka_tools: Tools, tmp_path: Path
) -> None:
    """Made by Kafka's own tool, and used by it."""
    alice = config_file(site, Login("SECURE", "SCRAM-SHA-512"), tmp_path)
    done = apache_kafka_tools(
        "kafka.admin.DelegationTokenCommand",
        *("--bootstrap-server", site.bootstrap("SECURE"), "--command-config", alice),
        *("--create", "--max-life-time-period", "-1", "--renewer-principal", "User:bob"),
        timeout=TIMEOUT_S,
    )
    assert done.exit_code == 0, done.stderr
    token_id, hmac, owner = done.stdout.splitlines()[-1].split()[:3]
    assert owner == "User:alice"
    topic = unique_topic("alice")
    admin.create_topics([NewTopic(topic, 1, 1)])
    bearer = Login("SASL", "SCRAM-SHA-256", token_id, hmac)
    listed = apache_kafka_tools(
        "kafka.admin.TopicCommand",
        *("--bootstrap-server", site.bootstrap("SASL")),
        *("--command-config", config_file(site, bearer, tmp_path, tokenauth="true"), "--list"),
        timeout=TIMEOUT_S,
    )
    assert topic in listed.stdout.split(), listed.stderr


def test_acls_of_kafkas_tool_in_zookeeper_are_ours_and_ours_are_its(
    site: SecureSite, broker: Broker, admin: KafkaAdminClient, apache_kafka_tools: Tools
) -> None:
    """M70: `AclCommand --authorizer-properties`: the same znodes; our broker hears of changes."""
    connect = broker.properties["zookeeper.connect"]
    in_zookeeper = ("--authorizer-properties", f"zookeeper.connect={connect}")
    topic = unique_topic("orders")
    done = apache_kafka_tools(
        "kafka.admin.AclCommand",
        *in_zookeeper,
        *("--add", "--allow-principal", "User:carol", "--deny-principal", "User:mallory"),
        *("--operation", "Read", "--topic", topic, "--resource-pattern-type", "prefixed"),
        timeout=TIMEOUT_S,
    )
    assert done.exit_code == 0, done.stderr
    pattern = ResourcePattern(ResourceType.TOPIC, topic, ACLResourcePatternType.PREFIXED)
    wanted = ACLFilter(None, None, ACLOperation.ANY, ACLPermissionType.ANY, pattern)
    wait_until(lambda: len(admin.describe_acls(wanted)) == 2)
    assert {(acl.principal, acl.permission_type) for acl in admin.describe_acls(wanted)} == {
        ("User:carol", ACLPermissionType.ALLOW),
        ("User:mallory", ACLPermissionType.DENY),
    }
    literal = ResourcePattern(ResourceType.GROUP, topic)
    everything = (ACLOperation.ALL, ACLPermissionType.ALLOW, literal)
    admin.create_acls([ACL("User:dave", "10.0.0.1", *everything)])
    listed = apache_kafka_tools(
        "kafka.admin.AclCommand", *in_zookeeper, "--list", timeout=TIMEOUT_S
    ).stdout
    assert f"resourceType=GROUP, name={topic}, patternType=LITERAL" in listed
    assert "principal=User:dave, host=10.0.0.1, operation=ALL, permissionType=ALLOW" in listed
