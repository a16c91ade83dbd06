"""Members of consumer groups by three libraries, each in a thread that polls until it is told.

with GroupMember("kafka-python", servers, "group", "topic") as member:
    wait_until(lambda: len(member.received) == 100)
    member.commit()
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, NamedTuple, Self

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener
from aiokafka.coordinator.assignors.range import RangePartitionAssignor as AiokafkaRangeAssignor
from confluent_kafka import Consumer
from kafka import KafkaConsumer
from kafka.coordinator.assignors.range import RangePartitionAssignor

from tests.support.waiting import wait_until

NAMES = ("confluent-kafka", "kafka-python", "aiokafka")
_SESSION_MS = 6000
_HEARTBEAT_MS = 500
_POLL_S = 0.1
_LONG_POLL_MS = 1500  # kafka-python forgets a join that outlasts its poll
_STOP_S = 30.0


class Got(NamedTuple):
    """One record that a member was given."""

    partition: int
    offset: int
    value: bytes


class GroupMember:
    """One member; a context manager that leaves the group at its end."""

    def __init__(
        self,
        name: str,
        bootstrap_servers: str,
        group_id: str,
        topic: str,
        *,
        options: dict[str, Any] | None = None,
        process: Callable[[Got], None] | None = None,
    ) -> None:
        self.name = name
        self.bootstrap_servers = bootstrap_servers
        self.group_id = group_id
        self.topic = topic
        self.options = options or {}
        self.received: list[Got] = []
        self.assigned: set[int] | None = None
        self.assignments = 0
        self._process = process
        self._wishes: queue.SimpleQueue[tuple[str, threading.Event]] = queue.SimpleQueue()
        self._problem: BaseException | None = None
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def values(self) -> list[bytes]:
        """What was received."""
        return [got.value for got in self.received]

    def wait_for(self, count: int, timeout_s: float = 60.0) -> None:
        """Wait until so many records have come in all."""
        wait_until(lambda: self._alive() and len(self.received) >= count, timeout_s, f"{count}")

    def wait_for_assignment(self, timeout_s: float = 60.0) -> set[int]:
        """Wait until the member knows its partitions."""
        wait_until(lambda: self._alive() and self.assigned is not None, timeout_s, "an assignment")
        assert self.assigned is not None
        return self.assigned

    def commit(self, *, is_async: bool = False) -> None:
        """Commit what was received, and wait until the broker has answered."""
        done = threading.Event()
        self._wishes.put(("async" if is_async else "sync", done))
        wait_until(lambda: self._alive() and done.is_set(), 30, "the commit")

    def stop(self) -> None:
        """End the member; it leaves the group."""
        self._is_stopping.set()
        self._thread.join(_STOP_S)
        assert not self._thread.is_alive(), f"{self.name} does not end"
        if self._problem is not None:
            raise self._problem

    def _alive(self) -> bool:
        if self._problem is not None:
            raise self._problem
        return True

    def _run(self) -> None:
        try:
            {
                "confluent-kafka": self._run_confluent,
                "kafka-python": self._run_kafka_python,
                "aiokafka": lambda: asyncio.run(self._run_aiokafka()),
            }[self.name]()
        except BaseException as error:  # noqa: BLE001 (raised where the test can see it)
            self._problem = error

    def _take(self, got: Iterable[Got]) -> None:
        for one in got:
            if self._process is not None:
                self._process(one)
            self.received.append(one)

    def _assign(self, partitions: Iterable[int]) -> None:
        self.assigned = set(partitions)
        self.assignments += 1

    def _wish(self) -> tuple[str, threading.Event] | None:
        try:
            return self._wishes.get_nowait()
        except queue.Empty:
            return None

    # --- librdkafka

    def _run_confluent(self) -> None:
        settings = {
            "bootstrap.servers": self.bootstrap_servers,
            "group.id": self.group_id,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": _SESSION_MS,
            "heartbeat.interval.ms": _HEARTBEAT_MS,
            "partition.assignment.strategy": "range",
            **self.options,
        }
        committed: list[Any] = []
        settings["on_commit"] = lambda error, _: committed.append(error)
        consumer = Consumer(settings)
        is_cooperative = "cooperative" in settings["partition.assignment.strategy"]

        def assigned(_: Any, partitions: list[Any]) -> None:
            new = {one.partition for one in partitions}
            self._assign((self.assigned or set()) | new if is_cooperative else new)

        def revoked(_: Any, partitions: list[Any]) -> None:
            gone = {one.partition for one in partitions}
            self.assigned = (self.assigned or set()) - gone if is_cooperative else None

        consumer.subscribe([self.topic], on_assign=assigned, on_revoke=revoked, on_lost=revoked)
        while not self._is_stopping.is_set():
            messages = consumer.consume(500, _POLL_S)
            self._take(Got(m.partition(), m.offset(), m.value()) for m in messages if not m.error())
            wish = self._wish()
            if wish is not None:
                if wish[0] == "sync":
                    consumer.commit(asynchronous=False)
                else:
                    committed.clear()
                    consumer.commit(asynchronous=True)
                    while not committed:
                        consumer.poll(_POLL_S)
                    assert committed == [None], committed
                wish[1].set()
        consumer.close()

    # --- kafka-python

    def _run_kafka_python(self) -> None:
        consumer = KafkaConsumer(
            self.topic,
            bootstrap_servers=self.bootstrap_servers.split(","),
            group_id=self.group_id,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=_SESSION_MS,
            heartbeat_interval_ms=_HEARTBEAT_MS,
            partition_assignment_strategy=[RangePartitionAssignor],
            **self.options,
        )
        while not self._is_stopping.is_set():
            found = consumer.poll(timeout_ms=_LONG_POLL_MS)
            self._take(
                Got(r.partition, r.offset, r.value) for records in found.values() for r in records
            )
            now = {tp.partition for tp in consumer.assignment()}
            if (now or self.assigned is not None) and now != self.assigned:
                self._assign(now)
            wish = self._wish()
            if wish is not None:
                if wish[0] == "sync":
                    consumer.commit()
                else:
                    future = consumer.commit_async()
                    while not future.is_done:
                        consumer.poll(timeout_ms=int(_POLL_S * 1000))
                    assert future.succeeded(), future.exception
                wish[1].set()
        consumer.close()

    # --- aiokafka

    async def _run_aiokafka(self) -> None:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap_servers.split(","),
            group_id=self.group_id,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=_SESSION_MS,
            heartbeat_interval_ms=_HEARTBEAT_MS,
            partition_assignment_strategy=[AiokafkaRangeAssignor],
            **self.options,
        )
        consumer.subscribe([self.topic], listener=_Listener(self))
        await consumer.start()
        while not self._is_stopping.is_set():
            found = await consumer.getmany(timeout_ms=int(_POLL_S * 1000))
            self._take(
                Got(r.partition, r.offset, r.value) for records in found.values() for r in records
            )
            wish = self._wish()
            if wish is not None:
                await consumer.commit()
                wish[1].set()
        await consumer.stop()


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # it has no types
    def __init__(self, member: GroupMember) -> None:
        self._member = member

    async def on_partitions_revoked(self, revoked: Any) -> None:
        self._member.assigned = None

    async def on_partitions_assigned(self, assigned: Any) -> None:
        self._member._assign(tp.partition for tp in assigned)
