"""Clients that mean no good: it costs them their connection, and nobody else anything.

A bystander works all the while; afterwards the broker is as large as it was.
"""

import contextlib
import gzip
import random
import socket
import ssl
import struct
from collections.abc import Callable, Iterator

import pytest
from crc32c import crc32c

from kafkalike.client import KafkaAdminClient, NewTopic
from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.messages.api_versions import ApiVersionsRequest
from kafkalike.protocol.messages.fetch import FetchRequest
from kafkalike.protocol.messages.metadata import MetadataRequest
from kafkalike.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalike.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kafkalike.protocol.records.compression import CompressionType
from tests.support import wire
from tests.support.broker import Broker
from tests.support.bystander import Bystander
from tests.support.new_broker import STARTED
from tests.support.process import rss_bytes
from tests.support.secure_site import Login, SecureSite, welcome
from tests.support.target import unique_topic
from tests.support.waiting import wait_until

pytestmark = pytest.mark.ensemble

MIB = 1 << 20
MAX_REQUEST = 16 * MIB
QUEUED = 32 * MIB
ALICE = Login("SASL", "PLAIN")
SETTINGS = {
    "socket.request.max.bytes": str(MAX_REQUEST),
    "queued.max.request.bytes": str(QUEUED),
    "connection.failed.authentication.delay.ms": "100",
}
KNOWN_LISTENERS = ("OPEN", "TLS", "SASL", "SECURE")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> SecureSite:
    """Certificates and settings."""
    return SecureSite(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def broker(site: SecureSite, broker_factory: Callable[..., Broker]) -> Broker:
    """A broker with a listener of every kind, and limits that can be reached."""
    started = broker_factory(properties={**site.properties, **SETTINGS}, is_started=False)
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


@pytest.fixture
def bystander(site: SecureSite, broker: Broker, admin: KafkaAdminClient) -> Iterator[Bystander]:
    """Somebody who works; and a look at the broker's size before and after."""
    topic = unique_topic("alice")
    admin.create_topics([NewTopic(topic, 1, 1)])
    with site.connect(ALICE) as client:
        wait_until(lambda: wire.append(client, topic, b"warm") >= 0)
    before = rss_bytes(broker.broker_pid)
    with Bystander(lambda: site.connect(ALICE), topic) as somebody:
        yield somebody
    wait_until(lambda: rss_bytes(broker.broker_pid) < before + 48 * MIB, 30, "memory is back")


def connection_to(site: SecureSite, listener: str) -> socket.socket:
    plain = socket.create_connection(("127.0.0.1", site.ports[listener]), timeout=20)
    if listener not in ("TLS", "SECURE"):
        return plain
    context = ssl.create_default_context(cafile=str(site.ca))
    return context.wrap_socket(plain, server_hostname="localhost")


def is_closed(connection: socket.socket) -> bool:
    """Whether the broker hangs up, whatever it says before."""
    try:
        while connection.recv(65536):
            pass
    except (ConnectionError, ssl.SSLError):
        return True
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize("listener", KNOWN_LISTENERS)
def test_noise(site: SecureSite, bystander: Bystander, listener: str) -> None:
    """Random bytes, framed and not, in random pieces."""
    chance = random.Random(listener)
    for _ in range(100):
        noise = chance.randbytes(chance.randint(1, 3000))
        framed = chance.random() < 0.7
        data = (struct.pack(">i", len(noise)) if framed else b"") + noise
        with connection_to(site, listener) as connection, contextlib.suppress(OSError):
            cut = chance.randrange(len(data))
            connection.sendall(data[:cut])
            connection.sendall(data[cut:])


@pytest.mark.parametrize("listener", ["TLS", "SECURE"])
def test_noise_instead_of_tls(site: SecureSite, bystander: Bystander, listener: str) -> None:
    chance = random.Random(listener)
    for _ in range(50):
        with (
            socket.create_connection(("127.0.0.1", site.ports[listener])) as connection,
            contextlib.suppress(OSError),
        ):
            connection.sendall(chance.randbytes(chance.randint(1, 3000)))


@pytest.mark.parametrize("listener", KNOWN_LISTENERS)
@pytest.mark.parametrize("size", [-1, -(1 << 31), MAX_REQUEST + 1, (1 << 31) - 1])
def test_impossible_length(
    site: SecureSite, bystander: Bystander, listener: str, size: int
) -> None:
    with connection_to(site, listener) as connection:
        connection.sendall(struct.pack(">i", size) + b"x" * 100)
        assert is_closed(connection)


def test_arrays_and_strings_that_are_longer_than_their_request(
    site: SecureSite, bystander: Bystander
) -> None:
    """A count of two thousand million must not make room for as many."""
    for key, version in ((0, 7), (1, 11), (3, 8), (3, 9), (2, 5), (19, 5), (20, 3), (42, 1)):
        header = struct.pack(">hhih", key, version, 1, -1)
        for count in (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x0f", b"\x80\xff\xff\xff"):
            frame = header + b"\x00\x01" + count * 4
            with connection_to(site, "OPEN") as connection:
                connection.sendall(struct.pack(">i", len(frame)) + frame)
                connection.shutdown(socket.SHUT_WR)
                assert is_closed(connection)


def sasl_client(site: SecureSite) -> SimpleClient:
    return SimpleClient("127.0.0.1", site.ports["SASL"], timeout_s=20)


def test_steps_of_sasl_in_a_wrong_order(site: SecureSite, bystander: Bystander) -> None:
    """Nothing that came before the end of authentication is ever served."""
    handshake, tokens = SaslHandshakeRequest(mechanism="PLAIN"), b"\0alice\0wrong"
    plans = [
        [MetadataRequest(topics=[])],
        [ApiVersionsRequest(), MetadataRequest(topics=[])],
        [ApiVersionsRequest(), ApiVersionsRequest()],
        [SaslAuthenticateRequest(auth_bytes=tokens)],
        [handshake, handshake],
        [handshake, MetadataRequest(topics=[])],
        [handshake, SaslAuthenticateRequest(auth_bytes=tokens), MetadataRequest(topics=[])],
        [handshake, SaslAuthenticateRequest(auth_bytes=b""), handshake],
    ]
    for plan in plans:
        with sasl_client(site) as client:
            for request in plan:
                with contextlib.suppress(OSError, EOFError):
                    client.send_only(request)
            answers = []
            with contextlib.suppress(OSError, EOFError):
                while True:
                    answers.append(client.receive_frame())
            # ApiVersions, the handshake, and the refusal may be answered; Metadata never is.
            assert all(len(answer) < 2000 and b"127.0.0.1" not in answer for answer in answers)


def test_token_that_is_too_large(site: SecureSite, bystander: Bystander) -> None:
    """Who has not proved who it is gets half a megabyte (`sasl.server.max.receive.size`)."""
    with sasl_client(site) as client:
        client.send(SaslHandshakeRequest(mechanism="PLAIN"))
        with pytest.raises((OSError, EOFError)):
            client.send(SaslAuthenticateRequest(auth_bytes=b"x" * (MIB)))


def test_batches_that_unfold_to_more_than_the_memory_there_is(
    site: SecureSite, bystander: Bystander, admin: KafkaAdminClient
) -> None:
    """A few hundred kilobytes for a gigabyte, where the broker has to look inside."""
    topic = unique_topic("alice-small")
    configs = {"compression.type": "uncompressed", "max.message.bytes": str(10 * MIB)}
    admin.create_topics([NewTopic(topic, 1, 1, topic_configs=configs)])
    bomb = _bomb(1 << 30)
    assert len(bomb) < 2 * MIB
    with site.connect(ALICE) as client:
        wait_until(lambda: wire.append(client, topic, b"x") >= 0)
        for _ in range(3):
            assert wire.produce(client, topic, bomb).error_code != 0


def _bomb(size: int) -> bytes:
    """Build a batch whose records are so many zeros, though its header says one record."""
    honest = wire.batch(b"x" * 100, compression=CompressionType.GZIP)
    packed = gzip.compress(bytes(MIB) * (size // MIB), compresslevel=9)
    body = bytearray(honest[:61]) + packed
    struct.pack_into(">i", body, 8, len(body) - 12)
    struct.pack_into(">I", body, 17, crc32c(bytes(body[21:])))
    return bytes(body)


def test_readers_that_ask_for_much_and_read_nothing(
    site: SecureSite, bystander: Bystander, admin: KafkaAdminClient
) -> None:
    """Also under TLS, where the broker has to encrypt what it sends."""
    topic = unique_topic("ANONYMOUS")
    admin.create_topics([NewTopic(topic, 1, 1)])
    with SimpleClient("127.0.0.1", site.ports["OPEN"]) as client:
        wait_until(lambda: wire.append(client, topic, b"x" * 900_000) >= 0)
        for _ in range(20):
            wire.append(client, topic, random.Random(1).randbytes(900_000))
    request = wire.fetch_request(topic, 0, max_bytes=50 * MIB, partition_max_bytes=50 * MIB)
    frame = _frame(request)
    with contextlib.ExitStack() as stack:
        for number in range(60):
            connection = stack.enter_context(connection_to(site, ("OPEN", "TLS")[number % 2]))
            connection.sendall(frame * 5)
        bystander.wait_rounds(50)


def _frame(request: FetchRequest) -> bytes:
    version = 11
    header = struct.pack(">hhih", request.api_key, version, 1, -1)
    body = header + request.encode(version)
    return struct.pack(">i", len(body)) + body


def test_many_large_requests_of_which_none_comes_to_its_end(
    site: SecureSite, broker: Broker, bystander: Bystander
) -> None:
    """`queued.max.request.bytes`: 60 times 12 MiB do not fit, and wait in their clients."""
    before = rss_bytes(broker.broker_pid)
    part = b"x" * (11 * MIB)
    with contextlib.ExitStack() as stack:
        for _ in range(60):
            connection = stack.enter_context(connection_to(site, "OPEN"))
            connection.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                connection.send(struct.pack(">i", 12 * MIB) + part)
        for _ in range(20):
            bystander.wait_rounds(3)
            assert rss_bytes(broker.broker_pid) - before < 3 * QUEUED


def test_ten_thousand_connections(site: SecureSite, broker: Broker, bystander: Bystander) -> None:
    """They are silent, or have begun a request; then all hang up at once."""
    with contextlib.ExitStack() as stack:
        for number in range(10_000):
            connection = stack.enter_context(
                socket.create_connection(("127.0.0.1", site.ports["OPEN"]), timeout=60)
            )
            if number % 3 == 0:
                connection.sendall(b"\0\0")
        bystander.wait_rounds(10)
    wait_until(lambda: broker.answers(), 30)
