"""Many topics on one broker."""

from collections.abc import Iterator

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tests.support.broker import Broker
from tests.support.target import unique_topic
from tests.support.wire import append, read_all

pytestmark = pytest.mark.ensemble

PER_REQUEST = 50
TIMEOUT_MS = 30_000


@pytest.fixture
def client(broker: Broker) -> Iterator[SimpleClient]:
    with SimpleClient("127.0.0.1", broker.port) as connected:
        yield connected


def test_broker_has_a_thousand_topics(client: SimpleClient) -> None:
    """M12: any number of topics; a thousand on one broker, each with a name of its own."""
    names = [unique_topic("one-of-many") for _ in range(1000)]
    for first in range(0, len(names), PER_REQUEST):
        topics = [
            CreatableTopic(name=name, num_partitions=1, replication_factor=1)
            for name in names[first : first + PER_REQUEST]
        ]
        made = client.send(CreateTopicsRequest(topics=topics, timeout_ms=TIMEOUT_MS)).topics
        assert {topic.error_code for topic in made} == {ErrorCode.NONE}
    for name in (names[0], names[500], names[-1]):
        append(client, name, name.encode())
        assert [record.value for record in read_all(client, name)] == [name.encode()]
