"""The way of transaction markers to one broker: WriteTxnMarkers, one request at a time.

Part of Kafka's TransactionMarkerChannelManager. Markers that come while a request is in flight go
together in the next one.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, Protocol, cast

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectError, DNSLookupError
from twisted.logger import Logger

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode, KafkaError, ProtocolError
from kafkalike.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kafkalike.protocol.schema import Message
from kafkalike.utils.background import Background

log = Logger()

_NETWORK_ERRORS: Final = (KafkaError, ProtocolError, ConnectError, DNSLookupError, OSError)

Errors = Mapping[TopicPartition, ErrorCode]


class BrokerSender(Protocol):
    """A way to one broker. It connects at the first `send`; after a failed one it is closed."""

    async def send(self, request: Message, version: int) -> Message:
        """Send a request and give the answer, or raise."""

    def close(self) -> None:
        """Close; a request in flight fails."""


class TxnMarker(NamedTuple):
    """The end of a transaction, to be written to partitions that one broker leads."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    is_commit: bool
    partitions: frozenset[TopicPartition]


class _Waiting(NamedTuple):
    marker: TxnMarker
    answer: "Deferred[Errors]"


class MarkerChannel:
    """Takes markers for one broker; owned by the marker channel manager."""

    def __init__(self, what: str, connect: Callable[[], BrokerSender], version: int) -> None:
        self._what = what
        self._connect = connect
        self._version = version
        self._background = Background()
        self._sender: BrokerSender | None = None
        self._waiting: list[_Waiting] = []
        self._is_sending = False

    async def write(self, marker: TxnMarker) -> Errors:
        """Have a marker written; return an error code, NONE included, for each partition."""
        waiting = _Waiting(marker, Deferred())
        self._waiting.append(waiting)
        if not self._is_sending:
            self._is_sending = True
            self._background.start(self._drain(), f"transaction markers to {self._what}")
        return await waiting.answer

    def close(self) -> None:
        """Send nothing more; who waits is told that the broker is away."""
        self._background.stop()
        self._disconnect()
        self._answer(self._waiting, {}, ErrorCode.NETWORK_EXCEPTION)
        self._waiting = []

    async def _drain(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                try:
                    found = await self._send([waiting.marker for waiting in batch])
                except CancelledError:
                    self._answer(batch, {}, ErrorCode.NETWORK_EXCEPTION)
                    raise
                except _NETWORK_ERRORS as error:
                    log.info(
                        "transaction markers could not be sent to {broker}: {error}",
                        broker=self._what,
                        error=error,
                    )
                    self._disconnect()
                    self._answer(batch, {}, ErrorCode.NETWORK_EXCEPTION)
                except Exception:  # noqa: BLE001 (a marker that is not sent again blocks readers)
                    log.failure("transaction markers to {broker} failed", broker=self._what)
                    self._disconnect()
                    self._answer(batch, {}, ErrorCode.UNKNOWN_SERVER_ERROR)
                else:
                    self._answer(batch, found, ErrorCode.UNKNOWN_SERVER_ERROR)
        finally:
            self._is_sending = False

    async def _send(self, markers: Iterable[TxnMarker]) -> Mapping[int, Errors]:
        if self._sender is None:
            self._sender = self._connect()
        answer = await self._sender.send(_request(markers), self._version)
        return _errors_by_producer(cast(WriteTxnMarkersResponse, answer))

    @staticmethod
    def _answer(
        batch: Iterable[_Waiting], found: Mapping[int, Errors], otherwise: ErrorCode
    ) -> None:
        for marker, answer in batch:
            errors = found.get(marker.producer_id, {})
            answer.callback({tp: errors.get(tp, otherwise) for tp in marker.partitions})

    def _disconnect(self) -> None:
        if self._sender is not None:
            self._sender.close()
            self._sender = None


def _request(markers: Iterable[TxnMarker]) -> WriteTxnMarkersRequest:
    return WriteTxnMarkersRequest(
        markers=[
            WritableTxnMarker(
                producer_id=marker.producer_id,
                producer_epoch=marker.producer_epoch,
                transaction_result=marker.is_commit,
                topics=_topics(marker.partitions),
                coordinator_epoch=marker.coordinator_epoch,
            )
            for marker in markers
        ]
    )


def _topics(partitions: Iterable[TopicPartition]) -> list[WritableTxnMarkerTopic]:
    by_topic: dict[str, list[int]] = defaultdict(list)
    for tp in sorted(partitions):
        by_topic[tp.topic].append(tp.partition)
    return [
        WritableTxnMarkerTopic(name=name, partition_indexes=indexes)
        for name, indexes in by_topic.items()
    ]


def _errors_by_producer(answer: WriteTxnMarkersResponse) -> Mapping[int, Errors]:
    found: dict[int, dict[TopicPartition, ErrorCode]] = defaultdict(dict)
    for marker in answer.markers:
        for topic in marker.topics:
            for partition in topic.partitions:
                tp = TopicPartition(topic.name, partition.partition_index)
                found[marker.producer_id][tp] = ErrorCode(partition.error_code)
    return found
