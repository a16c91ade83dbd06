"""Consume, transform, produce: a copy of a topic in transactions, with confluent-kafka.

What is read, what is written and how far the group has come take effect together, so that the copy
has every record once, whatever happens on the way.
"""

import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from tests.support.waiting import wait_until

_TIMEOUT_S = 30.0
_MOVED = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError._TIMED_OUT,
    KafkaError._WAIT_COORD,
    KafkaError._TRANSPORT,
)


def read_values(
    bootstrap_servers: str,
    topic: str,
    count: int,
    *,
    partitions: int = 1,
    partition: int | None = None,
    isolation: str = "read_committed",
    timeout_s: float = _TIMEOUT_S,
) -> list[bytes]:
    """Read so many values of a topic (or of one partition), or all there are when time is up."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": isolation,
        }
    )
    wanted = range(partitions) if partition is None else [partition]
    consumer.assign([TopicPartition(topic, number, 0) for number in wanted])
    values: list[bytes] = []
    deadline = time.monotonic() + timeout_s
    try:
        while len(values) < count and time.monotonic() < deadline:
            found = consumer.consume(1000, timeout=0.2)
            values += [message.value() or b"" for message in found if message.error() is None]
    finally:
        consumer.close()
    return values


class TransactionalCopier:
    """Copies a topic to another of as many partitions; one transaction for each round.

    Who wants to know more overrides `transform` and the methods `on_...`.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        source: str,
        target: str,
        *,
        transactional_id: str = "copier",
        group: str = "copiers",
        transaction_timeout_ms: int = 60_000,
        debug: str | None = None,
    ) -> None:
        self._source = source
        self._target = target
        self._transactional_id = transactional_id
        self._group = group
        self._transaction_timeout_ms = transaction_timeout_ms
        self._settings = {"bootstrap.servers": bootstrap_servers}
        if debug is not None:  # librdkafka refuses an empty one
            self._settings["debug"] = debug
        self.transactions = 0
        self.aborts = 0
        self._was_rebalanced = False
        self._connect()

    # Any: a message of librdkafka, which has no type of its own to name here.
    def transform(self, message: Any) -> bytes | None:
        """Return the value to write for a message."""
        value: bytes | None = message.value()
        return value

    def on_begin(self, count: int) -> None:
        """Hear of a transaction with so many messages."""

    def on_written(self) -> None:
        """Act between the last write of a transaction and its end."""

    def on_end(self, outcome: str) -> None:
        """Hear what became of the transaction: committed, aborted or unknown."""

    def on_fatal(self, error: KafkaError) -> None:
        """Hear that the producer cannot go on; another one takes its place."""

    def _connect(self) -> None:
        self.producer = Producer(
            {
                **self._settings,
                "transactional.id": self._transactional_id,
                "transaction.timeout.ms": self._transaction_timeout_ms,
                "linger.ms": 0,
            }
        )
        self.producer.init_transactions(_TIMEOUT_S)
        self._consumer = Consumer(
            {
                **self._settings,
                "group.id": self._group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "session.timeout.ms": 6_000,
            }
        )
        self._consumer.subscribe(
            [self._source], on_assign=self._on_rebalance, on_revoke=self._on_rebalance
        )

    def _on_rebalance(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._was_rebalanced = True

    def copy(
        self,
        is_done: Callable[[], bool],
        *,
        size: int = 10,
        aborts_every: int | None = None,
    ) -> None:
        """Copy until told to stop; every so many transactions, abort one and do it again."""
        while not is_done():
            self._was_rebalanced = False
            messages = self._consumer.consume(size, timeout=0.5)
            taken = [message for message in messages if message.error() is None]
            if self._was_rebalanced and taken:
                # Some may be of partitions that are another's by now.
                self._rewind()
            elif taken:
                wants_abort = aborts_every is not None and self.transactions % aborts_every == 1
                self._copy_in_transaction(taken, wants_abort=wants_abort)

    def _copy_in_transaction(self, messages: list[Any], *, wants_abort: bool) -> None:
        self.transactions += 1
        self.on_begin(len(messages))
        try:
            self.producer.begin_transaction()
            for message in messages:
                self.producer.produce(
                    self._target,
                    self.transform(message),
                    message.key(),
                    partition=message.partition(),
                )
            self.on_written()
            if wants_abort:
                self._abort()
                return
            self.producer.send_offsets_to_transaction(
                self._consumer.position(self._consumer.assignment()),
                self._consumer.consumer_group_metadata(),
                _TIMEOUT_S,
            )
            self.producer.commit_transaction(_TIMEOUT_S)
            self.on_end("committed")
        except KafkaException as error:
            self._recover(error.args[0])

    def _recover(self, error: KafkaError) -> None:
        """Go on from what is committed: with the same producer if it can, else with a new one."""
        if error.fatal():
            self.on_fatal(error)
        if error.fatal() or not error.txn_requires_abort():
            self.aborts += 1
            self.reconnect()
        else:
            self._abort()

    def _abort(self) -> None:
        self.aborts += 1
        try:
            self.producer.abort_transaction(_TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].fatal():
                self.on_fatal(error.args[0])
            self.reconnect()
            return
        self.on_end("aborted")
        self._rewind()

    def reconnect(self) -> None:
        """Go on with another producer and consumer; what became of the transaction is not known."""
        self.on_end("unknown")
        self.close()
        self._connect()

    def _rewind(self) -> None:
        """Read again what was not committed."""
        (positions,) = wait_until(self._committed, _TIMEOUT_S, "the committed offsets")
        for position in positions:
            position.offset = max(position.offset, 0)
            self._consumer.seek(position)

    def _committed(self) -> tuple[list[TopicPartition]] | None:
        """Ask once; librdkafka does not ask again by itself when the coordinator has moved."""
        try:
            return (self._consumer.committed(self._consumer.assignment(), _TIMEOUT_S),)
        except KafkaException as error:
            if error.args[0].code() not in _MOVED:
                raise
            return None

    def close(self) -> None:
        """Leave the group."""
        self._consumer.close()
