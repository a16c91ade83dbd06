"""Source and sink on a listener with TLS and SASL, and what a user hears who may not read."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from kafkalike.client import KafkaAdminClient
from kafkalike.client.admin.values import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ResourcePattern,
    ResourceType,
)
from spark_pipeline.datasource.batch_reader import BatchReader
from spark_pipeline.datasource.sink_options import parse_sink_options
from spark_pipeline.datasource.source_options import parse_source_options
from spark_pipeline.datasource.task_writer import TaskWriter
from tests.spark.conftest import ALONE
from tests.spark.topics import committed_values, create_topic, fill
from tests.support.broker import Broker
from tests.support.ports import free_port

certificates = pytest.importorskip(
    "tests.support.certificates", reason="certificates need the package cryptography"
)
pytestmark = pytest.mark.ensemble

_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def login(username: str, password: str, more: str = "") -> str:
    return f'{_MODULE} username="{username}" password="{password}"{more};'


class Site:
    """A broker with an open door for the test and a locked one for the user."""

    def __init__(self, home: Path, make_broker: Callable[..., Broker]) -> None:
        authority = certificates.Authority.new()
        self.authority_file = home / "authority.pem"
        self.authority_file.write_text(authority.certificate_pem)
        keys = authority.issue("broker").write(home / "broker.pem")
        self.broker = make_broker(is_started=False)
        locked = free_port()
        self.servers = f"127.0.0.1:{locked}"
        self.broker.properties |= ALONE | {
            "listeners": f"PLAINTEXT://127.0.0.1:{self.broker.port},SASL_SSL://{self.servers}",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": login(
                "broker", "b", ' user_alice="open sesame"'
            ),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(keys),
            "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
            "super.users": "User:ANONYMOUS",
        }
        self.broker.start()

    def options(self, password: str = "open sesame", **more: str) -> dict[str, str]:
        return {
            "kafka.bootstrap.servers": self.servers,
            "kafka.security.protocol": "SASL_SSL",
            "kafka.sasl.mechanism": "PLAIN",
            "kafka.sasl.jaas.config": login("alice", password),
            "kafka.ssl.truststore.type": "PEM",
            "kafka.ssl.truststore.location": str(self.authority_file),
            "kafka.default.api.timeout.ms": "10000",
            **more,
        }

    def allow(self, kind: ResourceType, name: str, *operations: ACLOperation) -> None:
        with KafkaAdminClient(bootstrap_servers=self.broker.bootstrap_servers) as admin:
            admin.create_acls(
                [
                    ACL(
                        principal="User:alice",
                        host="*",
                        operation=operation,
                        permission_type=ACLPermissionType.ALLOW,
                        resource_pattern=ResourcePattern(kind, name),
                    )
                    for operation in operations
                ]
            )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, broker_factory: Callable[..., Broker]) -> Site:
    return Site(tmp_path_factory.mktemp("site"), broker_factory)


def read(site: Site, topic: str, **more: str) -> list[bytes]:
    options = site.options(subscribe=topic, **more)
    reader = BatchReader(parse_source_options(options, is_streaming=False))
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    return [value for batch in batches for value in batch.column("value").to_pylist()]


def test_source_reads_over_tls_with_a_password(site: Site) -> None:
    """M81: the data source has a user's identity."""
    create_topic(site.broker, "open", 1)
    fill(site.broker, "open", [b"a", b"b"], 1)
    site.allow(ResourceType.TOPIC, "open", ACLOperation.READ, ACLOperation.DESCRIBE)
    assert read(site, "open") == [b"a", b"b"]


def test_sink_writes_exactly_once_over_tls(site: Site) -> None:
    create_topic(site.broker, "target", 1)
    site.allow(ResourceType.TOPIC, "target", ACLOperation.ALL)
    site.allow(ResourceType.GROUP, "task-0", ACLOperation.READ)
    site.allow(ResourceType.TRANSACTIONAL_ID, "task-0", ACLOperation.ALL)
    writer = TaskWriter(parse_sink_options(site.options(topic="target")))
    batch = pa.RecordBatch.from_pydict({"value": ["x", "y"]})
    assert writer.write_once([batch], "task-0", 0) == 2
    assert writer.write_once([batch], "task-0", 0) is None
    assert committed_values(site.broker, "target", 1) == [b"x", b"y"]


def test_wrong_password_is_an_error_at_once(site: Site) -> None:
    with pytest.raises(Exception, match=r"[Ii]nvalid username or password"):
        read(site, "open", **{"kafka.sasl.jaas.config": login("alice", "wrong")})


def test_certificate_that_is_not_trusted_names_the_option(site: Site, tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    other.write_text(certificates.Authority.new("somebody else").certificate_pem)
    with pytest.raises(Exception, match=r"not trusted \(kafka.ssl.truststore.location\)"):
        read(site, "open", **{"kafka.ssl.truststore.location": str(other)})


def test_topic_that_may_not_be_read_is_named_with_what_is_missing(site: Site) -> None:
    create_topic(site.broker, "closed", 1)
    fill(site.broker, "closed", [b"a"], 1)
    with pytest.raises(Exception, match=r"option subscribe closed: .*Describe"):
        read(site, "closed")
    site.allow(ResourceType.TOPIC, "closed", ACLOperation.DESCRIBE)
    with pytest.raises(Exception, match=r"closed-0 .*offset 0.*Read"):
        read(site, "closed")


def test_sink_that_may_not_write_names_topic_and_permission(site: Site) -> None:
    create_topic(site.broker, "sealed", 1)
    site.allow(ResourceType.GROUP, "task-1", ACLOperation.READ)
    site.allow(ResourceType.TRANSACTIONAL_ID, "task-1", ACLOperation.ALL)
    writer = TaskWriter(parse_sink_options(site.options(topic="sealed")))
    batch = pa.RecordBatch.from_pydict({"value": ["x", "y"]})
    with pytest.raises(Exception, match=r"batch 0 of task-1 .*sealed.*Write"):
        writer.write_once([batch], "task-1", 0)
