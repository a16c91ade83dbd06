"""Consume, transform, produce: a copy of a topic in transactions, with confluent-kafka.

What is read, what is written and how far the group has come take effect together, so that the copy
has every record once, whatever happens on the way.
"""

import time
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

_TIMEOUT_S = 30.0


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
    """Copies a topic to another of as many partitions; one transaction for each round."""

    def __init__(
        self,
        bootstrap_servers: str,
        source: str,
        target: str,
        *,
        transactional_id: str = "copier",
        group: str = "copiers",
        transaction_timeout_ms: int = 60_000,
    ) -> None:
        self._servers = bootstrap_servers
        self._source = source
        self._target = target
        self._transactional_id = transactional_id
        self._group = group
        self._transaction_timeout_ms = transaction_timeout_ms
        self.transactions = 0
        self.aborts = 0
        self._connect()

    def _connect(self) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": self._servers,
                "transactional.id": self._transactional_id,
                "transaction.timeout.ms": self._transaction_timeout_ms,
                "linger.ms": 0,
            }
        )
        self._producer.init_transactions(_TIMEOUT_S)
        self._consumer = Consumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": self._group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "session.timeout.ms": 6_000,
            }
        )
        self._consumer.subscribe([self._source])

    def copy(
        self,
        is_done: Callable[[], bool],
        *,
        size: int = 10,
        aborts_every: int | None = None,
    ) -> None:
        """Copy until told to stop; every so many transactions, abort one and do it again."""
        while not is_done():
            messages = self._consumer.consume(size, timeout=0.5)
            taken = [message for message in messages if message.error() is None]
            if taken:
                wants_abort = aborts_every is not None and self.transactions % aborts_every == 1
                self._copy_in_transaction(taken, wants_abort=wants_abort)

    # Any message of librdkafka; it has no type of its own to name here.
    def _copy_in_transaction(self, messages: list, *, wants_abort: bool) -> None:  # type: ignore[type-arg]
        self.transactions += 1
        try:
            self._producer.begin_transaction()
            for message in messages:
                self._producer.produce(
                    self._target, message.value(), message.key(), partition=message.partition()
                )
            if wants_abort:
                self._abort()
                return
            self._producer.send_offsets_to_transaction(
                self._consumer.position(self._consumer.assignment()),
                self._consumer.consumer_group_metadata(),
                _TIMEOUT_S,
            )
            self._producer.commit_transaction(_TIMEOUT_S)
        except KafkaException as error:
            self._recover(error.args[0])

    def _recover(self, error: KafkaError) -> None:
        """Go on from what is committed: with the same producer if it can, else with a new one."""
        if error.fatal() or not error.txn_requires_abort():
            self.aborts += 1
            self.close()
            self._connect()
        else:
            self._abort()

    def _abort(self) -> None:
        self.aborts += 1
        try:
            self._producer.abort_transaction(_TIMEOUT_S)
        except KafkaException:
            self.close()
            self._connect()
            return
        self._rewind()

    def _rewind(self) -> None:
        """Read again what was not committed."""
        assigned = self._consumer.assignment()
        for position in self._consumer.committed(assigned, _TIMEOUT_S):
            position.offset = max(position.offset, 0)
            self._consumer.seek(position)

    def close(self) -> None:
        """Leave the group."""
        self._consumer.close()
