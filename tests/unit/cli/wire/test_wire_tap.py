import contextlib
import json
import socket
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from kafkalike.cli.wire.addresses import Address, redirect
from kafkalike.cli.wire.conversation import Conversation, Said
from kafkalike.cli.wire.shown import hide_secrets, json_row, line, size_only
from kafkalike.cli.wire.tap_proxy import Tap
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.header import encode_request_header, response_header_bytes
from kafkalike.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterResponse,
)
from kafkalike.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafkalike.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalike.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
)
from kafkalike.protocol.messages.produce import ProduceRequest
from kafkalike.protocol.schema import Message
from tests.support.loopback import Loopback


def request(message: Message, version: int, correlation_id: int = 1) -> bytes:
    return encode_request_header(message.api_key, version, correlation_id, "me") + message.encode(
        version
    )


def response(message: Message, version: int, correlation_id: int = 1) -> bytes:
    return response_header_bytes(message.api_key, version, correlation_id) + message.encode(version)


def framed(frame: bytes) -> bytes:
    return struct.pack(">i", len(frame)) + frame


class TestConversation:
    def test_an_answer_belongs_to_the_oldest_request(self) -> None:
        talk = Conversation()
        talk.request(request(HeartbeatRequest(group_id="g"), 0, 5), 100)
        talk.request(request(MetadataRequest(), 9, 6), 101)
        first = talk.response(response(HeartbeatResponse(error_code=27), 0, 5), 103)
        second = talk.response(response(MetadataResponse(cluster_id="c"), 9, 6), 110)
        assert (first.api_key, first.version, first.took_ms) == (ApiKey.HEARTBEAT, 0, 3)
        assert first.message == HeartbeatResponse(error_code=27)
        assert (second.api_key, second.took_ms) == (ApiKey.METADATA, 9)
        assert second.client_id == "me"

    def test_a_produce_without_acks_is_not_waited_for(self) -> None:
        talk = Conversation()
        talk.request(request(ProduceRequest(acks=0), 7, 1), 0)
        talk.request(request(HeartbeatRequest(), 0, 2), 0)
        assert talk.response(response(HeartbeatResponse(), 0, 2), 0).api_key is ApiKey.HEARTBEAT

    def test_what_cannot_be_read_says_why_and_keeps_its_place(self) -> None:
        talk = Conversation()
        token = talk.request(b"\0user\0password", 0)
        assert token.message is None
        assert token.error
        assert talk.response(b"", 0).error == "the request could not be read"
        assert talk.response(b"", 0).error == "an answer to nothing"

    def test_an_answer_out_of_order_is_told(self) -> None:
        talk = Conversation()
        talk.request(request(HeartbeatRequest(), 0, 5), 0)
        said = talk.response(response(HeartbeatResponse(), 0, 9), 0)
        assert said.error == "an answer to 5 was due"


class TestShown:
    SAID = Said(
        is_request=True,
        at_ms=1_123,
        size=40,
        api_key=ApiKey.HEARTBEAT,
        version=4,
        correlation_id=3,
        client_id="me",
        message=HeartbeatRequest(group_id="g"),
    )

    def test_a_line_has_api_version_id_client_size_and_fields(self) -> None:
        text = line(7, self.SAID, {"groupId": "g"}, None)
        assert text.endswith('.123 #7 > Heartbeat v4 id=3 me 40 B {"groupId":"g"}')

    def test_a_line_is_cut_at_the_width(self) -> None:
        text = line(7, self.SAID, {"groupId": "g" * 100}, 60)
        assert len(text) == 60
        assert text.endswith("…")

    def test_json_rows_can_be_decoded_again(self) -> None:
        row = json_row(1, self.SAID, {}, "h:1", b"\x01")
        assert (row["api_key"], row["version"], row["direction"]) == (12, 4, "request")
        assert row["hex"] == "01"
        assert "hex" not in json_row(1, self.SAID, {}, "h:1", None)

    def test_secrets_are_hidden_wherever_they_are(self) -> None:
        fields = {"authBytes": "b64:cGFzcw==", "tokens": [{"hmac": "b64:aA==", "owner": "o"}]}
        hidden = hide_secrets(fields)
        assert hidden == {"authBytes": "(hidden)", "tokens": [{"hmac": "(hidden)", "owner": "o"}]}

    def test_records_are_told_by_size(self) -> None:
        assert size_only(memoryview(b"abc")) == "<3 bytes>"


class TestRedirect:
    @staticmethod
    def through(broker: Address) -> Address:
        return "tap", broker[1] + 1

    def test_brokers_of_metadata_and_cluster_are_replaced(self) -> None:
        metadata = MetadataResponse(brokers=[MetadataResponseBroker(node_id=1, host="b", port=9)])
        cluster = DescribeClusterResponse(
            brokers=[DescribeClusterBroker(broker_id=1, host="b", port=9)]
        )
        for answer in (metadata, cluster):
            assert redirect(answer, self.through)
            assert (answer.brokers[0].host, answer.brokers[0].port) == ("tap", 10)

    def test_a_coordinator_is_replaced_if_there_is_one(self) -> None:
        found = FindCoordinatorResponse(host="b", port=9)
        assert redirect(found, self.through)
        assert (found.host, found.port) == ("tap", 10)
        assert not redirect(FindCoordinatorResponse(host="", port=-1), self.through)

    def test_other_answers_stay(self) -> None:
        assert not redirect(HeartbeatResponse(), self.through)


class World:
    """A tap before a broker that is a plain listening socket."""

    def __init__(self) -> None:
        self.loop = Loopback()
        self.loop.start_threads()
        self.broker = socket.create_server(("127.0.0.1", 0))
        self.broker.setblocking(False)
        self.seen: list[tuple[int, Said]] = []
        self.told: list[str] = []
        self.tap = self.make_tap()
        self.port = self.tap.listen("127.0.0.1", 0, self.broker.getsockname())

    def make_tap(self) -> Tap:
        def on_frame(number: int, said: Said, target: Address, frame: bytes) -> None:
            self.seen.append((number, said))

        return Tap(self.loop.reactor, on_frame, self.told.append)

    def accept(self) -> socket.socket:
        found: list[socket.socket] = []

        def accepted() -> bool:
            with contextlib.suppress(BlockingIOError):
                found.append(self.broker.accept()[0])
            return bool(found)

        self.loop.turn_until(accepted)
        found[0].setblocking(False)
        self.loop._sockets.append(found[0])
        return found[0]

    def close(self) -> None:
        self.tap.close()
        self.broker.close()
        self.loop.turn()
        self.loop.close()


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.close()


class TestTap:
    def test_frames_pass_both_ways_and_are_told(self, world: World) -> None:
        client = world.loop.connect(world.port)
        broker = world.accept()
        asked = framed(request(HeartbeatRequest(group_id="g"), 0))
        client.sendall(asked[:5])
        client.sendall(asked[5:])
        assert world.loop.receive(broker, len(asked)) == asked
        answered = framed(response(HeartbeatResponse(error_code=27), 0))
        broker.sendall(answered)
        assert world.loop.receive(client, len(answered)) == answered
        assert [(number, said.is_request) for number, said in world.seen] == [(1, True), (1, False)]
        assert world.seen[1][1].message == HeartbeatResponse(error_code=27)

    def test_clients_are_led_through_the_tap_to_other_brokers(self, world: World) -> None:
        client = world.loop.connect(world.port)
        broker = world.accept()
        other = socket.create_server(("127.0.0.1", 0))
        with other:
            answer = MetadataResponse(
                brokers=[
                    MetadataResponseBroker(node_id=2, host="127.0.0.1", port=other.getsockname()[1])
                ]
            )
            client.sendall(framed(request(MetadataRequest(), 9)))
            broker.sendall(b"")
            world.loop.turn_until(lambda: world.seen)
            broker.sendall(framed(response(answer, 9)))
            (size,) = struct.unpack(">i", world.loop.receive(client, 4))
            got: Any = MetadataResponse.decode(world.loop.receive(client, size), 9, 5)
            assert got.brokers[0].port not in (world.port, other.getsockname()[1])
            world.loop.connect(got.brokers[0].port)
            world.loop.turn_until(lambda: len(world.told) == 1)
            other.settimeout(0)
            arrived: list[object] = []

            def accepted() -> bool:
                with contextlib.suppress(BlockingIOError):
                    arrived.append(other.accept()[0])
                return bool(arrived)

            world.loop.turn_until(accepted)
            arrived[0].close()  # type: ignore[attr-defined]
        assert world.seen[1][1].message.brokers[0].node_id == 2  # type: ignore[union-attr]

    def test_what_is_not_kafka_passes_untouched(self, world: World) -> None:
        client = world.loop.connect(world.port)
        broker = world.accept()
        hello = b"\x16\x03\x01\x02\x00\x01hello"
        client.sendall(hello)
        assert world.loop.receive(broker, len(hello)) == hello
        broker.sendall(b"\x16\x03\x03 back")
        assert world.loop.receive(client, 8) == b"\x16\x03\x03 back"
        assert world.seen == []
        assert "not Kafka" in world.told[0]

    def test_either_end_closes_the_other(self, world: World) -> None:
        client = world.loop.connect(world.port)
        broker = world.accept()
        broker.close()
        world.loop.turn_until(lambda: world.loop.is_closed(client))
        second = world.loop.connect(world.port)
        other = world.accept()
        second.close()
        world.loop.turn_until(lambda: world.loop.is_closed(other))

    def test_a_broker_that_is_not_there_closes_the_client(self, world: World) -> None:
        world.broker.close()
        client = world.loop.connect(world.port)
        world.loop.turn_until(lambda: world.loop.is_closed(client))
        assert "cannot connect" in world.told[0]


def test_a_row_is_one_json_line() -> None:
    row = json_row(1, TestShown.SAID, TestShown.SAID.fields(), "h:1", None)
    assert json.loads(json.dumps(row))["fields"]["groupId"] == "g"
