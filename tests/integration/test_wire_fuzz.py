"""Real requests with a few wrong bytes, thrown at a running broker: it answers or hangs up."""

import contextlib
import random
import struct
from collections.abc import Callable
from typing import Any

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.api_keys import ApiKey, request_class
from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.header import parse_request_header, parse_response_header
from kafkalike.protocol.messages.api_versions import ApiVersionsRequest
from kafkalike.protocol.messages.create_partitions import CreatePartitionsRequest
from kafkalike.protocol.messages.create_topics import CreateTopicsRequest
from kafkalike.protocol.messages.produce import ProduceRequest
from kafkalike.server.api.registry import load_apis
from tests.support.broker import Broker
from tests.support.plain_requests import create_topic
from tests.support.protocol_vectors import Frame, frames

pytestmark = pytest.mark.ensemble

SEED = 20210419
ROUNDS = 150
MOST_PARTITIONS = 100
LONGEST_MS = {"max_wait_ms": 1, "timeout_ms": 500}
TOPICS = ("plain", "codec-none", "codec-gzip", "transactional", "txn-in", "txn-out", "compacted")
# What only the controller and other brokers say: a broker believes them (and the test has one).
BELIEVED = {
    ApiKey.LEADER_AND_ISR,
    ApiKey.STOP_REPLICA,
    ApiKey.UPDATE_METADATA,
    ApiKey.CONTROLLED_SHUTDOWN,
    ApiKey.ALTER_ISR,
}


def requests() -> list[Frame]:
    known = load_apis()
    return [
        frame
        for frame in frames()
        if frame.is_request
        and frame.api_key in known
        and frame.api_key not in BELIEVED
        and frame.version in known[frame.api_key].versions
    ]


def mutated(frame: Frame, chance: random.Random) -> bytes:
    """Change, insert or drop a few bytes, mostly behind key and version."""
    data = bytearray(frame.data)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(4 if chance.random() < 0.95 else 0, len(data))
        match chance.randrange(4):
            case 0:
                data[at] = chance.choice([0, 1, 127, 128, 255])
            case 1:
                data[at] ^= 1 << chance.randrange(8)
            case 2:
                del data[at : at + chance.randint(1, 4)]
            case _:
                data[at:at] = chance.randbytes(chance.randint(1, 4))
        if len(data) < 8:
            return frame.data
    return bytes(data)


def decoded(frame: bytes) -> Any:
    """Return the request that the broker will see, None if it is none."""
    with contextlib.suppress(ProtocolError, ValueError):
        header = parse_request_header(frame)
        cls = request_class(header.api_key)
        return cls.decode(frame, header.api_version, header.body_start)
    return None


def impatient(frame: Frame) -> Frame:
    """Return the same request with short time-outs."""
    request: Any = decoded(frame.data)
    header = parse_request_header(frame.data)
    for field, limit in LONGEST_MS.items():
        if hasattr(request, field):
            setattr(request, field, limit)
    return frame._replace(data=frame.data[: header.body_start] + request.encode(frame.version))


def is_worth_asking(request: Any) -> bool:
    """Whether an answer or an end of the connection must come, and soon."""
    if request is None:
        return True
    if isinstance(request, ProduceRequest) and request.acks == 0:
        return False
    if isinstance(request, CreatePartitionsRequest | CreateTopicsRequest):
        # Millions of partitions are work for minutes, here as in Kafka.
        counts = [getattr(topic, "count", 0) for topic in request.topics]
        counts += [getattr(topic, "num_partitions", 0) for topic in request.topics]
        if max(counts, default=0) > MOST_PARTITIONS:
            return False
    return all(getattr(request, field, 0) <= limit for field, limit in LONGEST_MS.items())


def ask(port: int, frame: bytes) -> None:
    """Send a frame: an answer with its correlation id comes back, or the connection ends."""
    with SimpleClient("127.0.0.1", port, timeout_s=20) as client:
        client.send_frame(frame)
        try:
            answer = client.receive_frame()
        except (EOFError, ConnectionResetError):
            return
        (sent,) = struct.unpack_from(">i", frame, 4)
        header = parse_response_header(answer, ApiKey.PRODUCE, 0)
        assert header.correlation_id == sent


@pytest.mark.parametrize("key", sorted({frame.api_key for frame in requests()}), ids=ApiKey)
def test_broker_survives_mutated_requests(fuzzed: Broker, key: int) -> None:
    chance = random.Random(SEED + key)
    of_key = [impatient(frame) for frame in requests() if frame.api_key == key]
    for number in range(ROUNDS):
        frame = mutated(of_key[number % len(of_key)], chance)
        if is_worth_asking(decoded(frame)):
            ask(fuzzed.port, frame)
    with SimpleClient("127.0.0.1", fuzzed.port) as client:
        handshake = ApiVersionsRequest(client_software_name="x", client_software_version="1")
        assert client.send(handshake).error_code == 0
    assert "Traceback" not in fuzzed.log_text()


@pytest.fixture(scope="module")
def fuzzed(broker_factory: Callable[..., Broker]) -> Broker:
    broker = broker_factory(properties={"auto.create.topics.enable": "false"})
    with SimpleClient("127.0.0.1", broker.port) as client:
        for topic in TOPICS:
            create_topic(client, topic)
    return broker
