"""Sends the controller's requests: per broker in order, one at a time, until it answers or is gone.

Kafka's `ControllerChannelManager` with a coroutine per broker instead of a thread.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectError, DNSLookupError
from twisted.logger import Logger

from kafkalike.model.broker import Broker
from kafkalike.protocol.errors import KafkaError, ProtocolError
from kafkalike.protocol.schema import Message
from kafkalike.utils.background import Background
from kafkalike.utils.time import Time

log = Logger()

RETRY_BACKOFF_MS = 100  # Kafka's, fixed: a broker that is gone for good leaves the list by itself
_NETWORK_ERRORS = (KafkaError, ProtocolError, ConnectError, DNSLookupError, OSError)


class BrokerSender(Protocol):
    """A way to one broker. It connects at the first `send`; after a failed one it is closed."""

    async def send(self, request: Message, version: int) -> Message:
        """Send a request and give the answer, or raise."""

    def close(self) -> None:
        """Close; a request in flight fails."""


class _Waiting(NamedTuple):
    request: Message
    version: int
    on_answer: Callable[[Any], None]  # Any: the class of the answer depends on the request


class _BrokerQueue:
    """The requests that wait for one broker.

    It has no bound of its own, as in Kafka: what waits is what changed in the cluster since the
    broker last answered, and it is forgotten when the broker's registration is.
    """

    def __init__(self, broker: Broker, connect: Callable[[Broker], BrokerSender], time: Time):
        self._broker = broker
        self._connect = connect
        self._time = time
        self._waiting: deque[_Waiting] = deque()
        self._background = Background()
        self._sender: BrokerSender | None = None
        self.is_sending = False
        self._is_closed = False
        self._on_idle: list[Callable[[], None]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, waiting: _Waiting) -> None:
        self._waiting.append(waiting)
        if not self.is_sending:
            self.is_sending = True
            self._background.start(self._drain(), f"requests to broker {self._broker.id}")

    def when_idle(self, then: Callable[[], None]) -> None:
        """Call when everything is answered or given up."""
        self._on_idle.append(then)

    def close(self) -> None:
        self._is_closed = True
        self._waiting.clear()
        self._background.stop()
        self._disconnect()

    async def _drain(self) -> None:
        try:
            while self._waiting:
                request, version, on_answer = self._waiting.popleft()
                answer = await self._send_until_answered(request, version)
                if not self._is_closed:
                    on_answer(answer)
        finally:
            self.is_sending = False
            waiting, self._on_idle = self._on_idle, []
            for then in waiting:
                then()

    async def _send_until_answered(self, request: Message, version: int) -> Message:
        while True:
            try:
                if self._sender is None:
                    self._sender = self._connect(self._broker)
                return await self._sender.send(request, version)
            except CancelledError:
                raise
            except _NETWORK_ERRORS as error:
                log.warn(
                    "{request} to broker {broker} failed, is sent again: {error}",
                    request=type(request).__name__,
                    broker=self._broker.id,
                    error=error,
                )
            except Exception:  # noqa: BLE001 (what is not sent again is a broker that never learns)
                log.failure("sending to broker {broker} failed", broker=self._broker.id)
            self._disconnect()
            await self._time.sleep_ms(RETRY_BACKOFF_MS)

    def _disconnect(self) -> None:
        if self._sender is not None:
            self._sender.close()
            self._sender = None


class ControllerChannelManager:
    """The queues to all brokers; owned by the controller while it is in office."""

    def __init__(self, connect: Callable[[Broker], BrokerSender], time: Time) -> None:
        self._connect = connect
        self._time = time
        self._queues: dict[int, _BrokerQueue] = {}

    @property
    def total_queue_size(self) -> int:
        """How many requests wait to be sent."""
        return sum(map(len, self._queues.values()))

    def add_broker(self, broker: Broker) -> None:
        """Be ready to send to a broker."""
        if broker.id not in self._queues:
            self._queues[broker.id] = _BrokerQueue(broker, self._connect, self._time)

    def remove_broker(self, broker_id: int) -> None:
        """Give up what waits for a broker."""
        queue = self._queues.pop(broker_id, None)
        if queue is not None:
            queue.close()

    def shutdown(self) -> None:
        """Give up everything."""
        for broker_id in list(self._queues):
            self.remove_broker(broker_id)

    async def settle(self, timeout_ms: int) -> None:
        """Wait until all brokers have answered everything, but no longer than this."""
        busy = {queue for queue in self._queues.values() if queue.is_sending}
        if not busy:
            return
        settled: Deferred[None] = Deferred()
        timer = self._time.call_later_ms(timeout_ms, settled.callback, None)

        def is_idle(queue: _BrokerQueue) -> None:
            busy.remove(queue)
            if not busy and timer.active():
                timer.cancel()
                settled.callback(None)

        for queue in list(busy):
            queue.when_idle(partial(is_idle, queue))
        await settled

    def send_request(
        self, broker_id: int, request: Message, version: int, on_answer: Callable[[Any], None]
    ) -> None:
        """Send after what waits already; the answer comes to `on_answer` unless the broker goes."""
        queue = self._queues.get(broker_id)
        if queue is None:
            log.warn(
                "{request} is not sent: broker {broker} is offline",
                request=type(request).__name__,
                broker=broker_id,
            )
            return
        queue.put(_Waiting(request, version, on_answer))
