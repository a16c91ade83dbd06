"""A topic is copied in transactions while things break, by copiers that get zombies.

Two copiers share the partitions of the source as members of one group. Now and then one is paused
and another process with its transactional.id takes its place; when the paused one wakes up, in the
middle of its transaction perhaps, it must find that it is fenced. A copier that dies is replaced.
"""

import contextlib
import json
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafkalike.model.topic import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from tests.chaos.checker import check
from tests.chaos.history import History, Place
from tests.chaos.transactional_checker import Outcome, Told, check_copy
from tests.chaos.transactional_copier import FENCED_EXIT_CODE, READY, value_at
from tests.chaos.workload import ConsumerThread
from tests.support.process import Process
from tests.support.waiting import wait_until

TARGET = "chaos-copy"
GROUP = "chaos-copiers"
TRANSACTIONAL_IDS = ("chaos-copier-0", "chaos-copier-1")
COORDINATORS = {
    "transaction coordinator": (TRANSACTION_STATE_TOPIC, TRANSACTIONAL_IDS[0]),
    "group coordinator": (GROUP_METADATA_TOPIC, GROUP),
}
_ROOT = Path(__file__).parents[2]
_TRANSACTION_TIMEOUT_MS = 30_000
_STANDSTILL_S = 120
_MOST_PAUSE_S = 4.0
_HARMLESS_S = 90


class TransactionalCopy:
    """Copies a topic from `start` to `finish`, which returns what went wrong."""

    def __init__(
        self, bootstrap: str, source: str, partitions: int, directory: Path, random: Random
    ) -> None:
        self._bootstrap = bootstrap
        self._source = source
        self._partitions = partitions
        self._directory = directory / "copiers"
        self._random = random
        self._processes: list[Process] = []
        self._copiers: dict[str, Process] = {}
        self._zombies: list[_Zombie] = []
        self.takeovers = 0
        self.replaced = 0
        self._history = History()
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._look_after, name="copiers", daemon=True)
        self._failures: list[BaseException] = []

    def start(self, replication_factor: int) -> None:
        """Create the target and copy from now on."""
        admin = AdminClient({"bootstrap.servers": self._bootstrap})
        topic = NewTopic(TARGET, self._partitions, replication_factor)
        admin.create_topics([topic])[TARGET].result(30)
        self._reader = ConsumerThread(self._bootstrap, TARGET, self._partitions, self._history)
        self._reader.start()
        for transactional_id in TRANSACTIONAL_IDS:
            self._copiers[transactional_id] = self._copier(transactional_id)
        self._thread.start()

    def finish(self, source: Mapping[Place, bytes]) -> list[str]:
        """Copy to the end of the source, end all copiers, and judge the copy."""
        problems = self._catch_up()
        self._is_stopping.set()
        self._thread.join(120)
        problems += [f"copy: {failure!r}" for failure in self._failures]
        problems += self._end_all()
        final, unread = self._read_committed()
        self._reader.stop()
        problems += unread
        verdict = check_copy(_values(source, is_source=True), _values(final), self.told())
        problems += verdict.problems
        along = check(self._history, final, final.values())
        problems += [f"copy: {place} was read and taken back" for place in along.divergent]
        return problems

    def kill(self) -> None:
        """End whatever still runs."""
        self._is_stopping.set()
        self._thread.join(130)
        for process in self._processes:
            process.kill()

    def told(self) -> list[Told]:
        """Return what copiers said of their transactions, the last word of each."""
        return [told for process in self._processes for told in _told_by(process)]

    def __str__(self) -> str:
        told = self.told()
        counts = {o: sum(one.outcome is o for one in told) for o in Outcome}
        records = sum(one.count for one in told if one.outcome is Outcome.COMMITTED)
        return (
            f"copy: {records} records in {counts[Outcome.COMMITTED]} committed transactions, "
            f"{counts[Outcome.ABORTED]} aborted, {counts[Outcome.UNKNOWN]} of unknown end; "
            f"{self.takeovers} takeovers, {self.replaced} copiers replaced"
        )

    # --- copiers

    def _copier(self, transactional_id: str) -> Process:
        number = len(self._processes)
        options = {
            "--name": f"c{number}",
            "--transactional-id": transactional_id,
            "--group": GROUP,
            "--timeout-ms": _TRANSACTION_TIMEOUT_MS,
            "--seed": self._random.randrange(1 << 31),
        }
        process = Process(
            f"copier {number}",
            [
                *(sys.executable, "-m", "tests.chaos.transactional_copier"),
                *(self._bootstrap, self._source, TARGET),
                *(str(part) for option in options.items() for part in option),
            ],
            self._directory / f"copier-{number}.log",
            cwd=_ROOT,
        )
        process.start()
        self._processes.append(process)
        return process

    def _look_after(self) -> None:
        try:
            next_takeover_s = time.monotonic() + 10
            while not self._is_stopping.wait(0.5):
                for transactional_id, process in list(self._copiers.items()):
                    if not process.is_alive:
                        self.replaced += 1
                        self._copiers[transactional_id] = self._copier(transactional_id)
                if time.monotonic() > next_takeover_s:
                    self._take_over(self._random.choice(TRANSACTIONAL_IDS))
                    next_takeover_s = time.monotonic() + self._random.uniform(5, 20)
        except BaseException as failure:  # noqa: BLE001 (told by `finish`)
            self._failures.append(failure)

    def _take_over(self, transactional_id: str) -> None:
        """Pause a copier, let another take its place, and wake it up as a zombie."""
        zombie = self._copiers[transactional_id]
        if not zombie.is_alive or READY not in zombie.log_text():
            return
        zombie.send_signal(signal.SIGSTOP)
        try:
            successor = self._copiers[transactional_id] = self._copier(transactional_id)
            # While brokers are away it may give up; it is replaced then as any other.
            wait_until(
                lambda: not successor.is_alive or READY in successor.log_text(),
                120,
                f"{successor.name} in the place of {zombie.name}",
            )
            self._is_stopping.wait(self._random.random() * _MOST_PAUSE_S)
            begun = frozenset(one.transaction for one in _told_by(zombie))
            if READY in successor.log_text():
                zombie.send_signal(signal.SIGUSR2)
        finally:
            zombie.send_signal(signal.SIGCONT)
        if READY in successor.log_text():
            self.takeovers += 1
            self._zombies.append(_Zombie(zombie, begun))
        else:
            self._copiers[transactional_id] = zombie  # nobody has taken its place yet

    def _end_all(self) -> list[str]:
        for zombie in self._zombies:
            with contextlib.suppress(AssertionError):
                wait_until(lambda zombie=zombie: zombie.is_harmless, _HARMLESS_S)
        problems = [f"copy: {zombie.crime}" for zombie in self._zombies if zombie.crime]
        for process in self._processes:
            process.terminate(40)
        return problems

    # --- reading

    def _assigned(self) -> list[TopicPartition]:
        return [TopicPartition(TARGET, number, 0) for number in range(self._partitions)]

    def _catch_up(self) -> list[str]:
        """Wait until the group has committed everything, as long as it gets on at all."""
        consumer = _consumer(self._bootstrap, GROUP, "read_committed")
        parts = [TopicPartition(self._source, number) for number in range(self._partitions)]
        committed: list[int] = []

        def gets_on() -> bool:
            found = _committed(consumer, parts)
            return found is not None and found != committed

        try:
            ends = wait_until(lambda: _ends(consumer, parts), 60, f"the ends of {self._source}")
            while committed != ends:
                wait_until(gets_on, _STANDSTILL_S, f"more than {committed} of {ends} copied")
                committed = _committed(consumer, parts) or committed
        except AssertionError as error:
            return [f"copy: {error}"]
        finally:
            consumer.close()
        return []

    def _read_committed(self) -> tuple[dict[Place, bytes], list[str]]:
        """Read the copy; a transaction without an end keeps its rest from being read."""
        plain = _consumer(self._bootstrap, "nobody", "read_uncommitted")
        found = wait_until(lambda: _ends(plain, self._assigned()), 60, f"the ends of {TARGET}")
        ends = dict(enumerate(found))
        plain.close()
        consumer = _consumer(self._bootstrap, "nobody", "read_committed")
        consumer.assign(self._assigned())
        final: dict[Place, bytes] = {}
        positions: dict[int, int] = {}

        def is_all_read() -> bool:
            for message in consumer.consume(5000, 0.5):
                if message.error() is None:
                    final[message.partition(), message.offset()] = message.value()
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    positions[message.partition()] = message.offset()
            return positions == ends

        try:
            wait_until(is_all_read, _TRANSACTION_TIMEOUT_MS / 1000 + 60, f"read up to {ends}")
        except AssertionError:
            return final, [f"copy: only read up to {positions} of {ends}"]
        finally:
            consumer.close()
        return final, []


class _Zombie(NamedTuple):
    """A copier whose place another has taken; what it had `begun` until then is up to others."""

    process: Process
    begun: frozenset[str]

    @property
    def is_harmless(self) -> bool:
        """Whether it has ended, or was not in the middle of anything when there was no more."""
        told = _told_by(self.process)
        return not self.process.is_alive or not told or told[-1].outcome is not Outcome.UNKNOWN

    @property
    def crime(self) -> str:
        """What it did that it must not, empty if nothing."""
        name = self.process.name
        late = [
            one.transaction
            for one in _told_by(self.process)
            if one.outcome is Outcome.COMMITTED and one.transaction not in self.begun
        ]
        if late:
            return f"{name} committed {late} though another had its place"
        if not self.is_harmless:
            self.process.send_signal(signal.SIGUSR1)  # it tells where it is
            return f"{name} is in a transaction and does not learn that it is fenced"
        if self.process.exit_code not in (None, 0, FENCED_EXIT_CODE):
            return f"{name} ended with {self.process.exit_code}"
        return ""


def _told_by(process: Process) -> list[Told]:
    """Return what a copier said of its transactions, the last word of each."""
    told: dict[str, Told] = {}
    for line in process.log_text().splitlines():
        if line.startswith("{") and line.endswith("}"):
            one = json.loads(line)
            name, count = one["transaction"], one["count"]
            told[name] = Told(name, count, Outcome(one["outcome"]))
    return list(told.values())


def _ends(consumer: Consumer, partitions: list[TopicPartition]) -> list[int] | None:
    try:
        return [consumer.get_watermark_offsets(one, 10)[1] for one in partitions]
    except KafkaException:
        return None


def _committed(consumer: Consumer, partitions: list[TopicPartition]) -> list[int] | None:
    try:
        return [one.offset for one in consumer.committed(partitions, 10)]
    except KafkaException:
        return None


def _values(places: Mapping[Place, bytes], *, is_source: bool = False) -> dict[int, list[bytes]]:
    """Return the values of each partition in their order; those of the source with offsets."""
    found: dict[int, list[bytes]] = defaultdict(list)
    for (partition, offset), value in sorted(places.items()):
        found[partition].append(value_at(offset, value) if is_source else value)
    return found


def _consumer(bootstrap: str, group: str, isolation: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "isolation.level": isolation,
            "log_level": 0,
        }
    )
