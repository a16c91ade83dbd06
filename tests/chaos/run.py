"""One run: a cluster, clients on it, faults one after the other, and a verdict."""

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from confluent_kafka.admin import AdminClient, NewTopic

from kafkalike.launcher.fork_server import ForkServer
from kafkalike.launcher.local_cluster import LocalCluster
from kafkalike.launcher.starting import start_brokers, stop_brokers, wait_until_registered
from tests.chaos.checker import Verdict, check, evidence, gaps
from tests.chaos.history import History
from tests.chaos.nemesis import FAULTS, ROLES, Nemesis
from tests.chaos.replicas import differing_replicas, writers
from tests.chaos.transactional_workload import COORDINATORS, TransactionalCopy
from tests.chaos.workload import ConsumerThread, OwnProducerThread, ProducerThread, read_all
from tests.support.ensemble import ensemble_config
from tests.support.ports import free_port

TOPIC = "chaos"
PARTITIONS = 4
BROKERS = 3
RECORDS, TRANSACTIONS = "records", "transactions"
WORKLOADS = (RECORDS, TRANSACTIONS)
"""Records alone, or also a copy of them in transactions."""
SESSION_TIMEOUT_S = 6
SETTINGS = {
    "zookeeper.session.timeout.ms": str(SESSION_TIMEOUT_S * 1000),
    "replica.lag.time.max.ms": "5000",
    "min.insync.replicas": "2",
    "auto.create.topics.enable": "false",
    "log.segment.bytes": "1048576",
}


@dataclass(slots=True)
class Round:
    """One fault and what it cost."""

    fault: str
    role: str
    victim: str
    unavailable_s: float


@dataclass(slots=True)
class Report:
    """All that a run found."""

    seed: int
    rounds: list[Round] = field(default_factory=list)
    sent: int = 0
    acked: int = 0
    failed: int = 0
    verdict: Verdict | None = None
    evidence: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Whether nothing went wrong, and something was tried at all."""
        return (
            bool(self.acked)
            and self.verdict is not None
            and (self.verdict.is_good and not self.problems)
        )


def roles(workload: str) -> Sequence[str]:
    """Return whom a run may strike."""
    return (*ROLES, *COORDINATORS) if workload == TRANSACTIONS else ROLES


def plan(random: Random, workload: str = RECORDS) -> Iterator[tuple[str, str]]:
    """Yield every fault on every role in a random order, again and again."""
    while True:
        everything = list(itertools.product(FAULTS, roles(workload)))
        random.shuffle(everything)
        yield from everything


def run(
    directory: Path,
    *,
    seed: int,
    faults: Iterator[tuple[str, str]],
    is_over: Callable[[int], bool],
    workload: str = RECORDS,
    say: Callable[[str], None] = print,
) -> Report:
    """Run until `is_over(rounds)`; the cluster is gone afterwards, its logs stay on failure."""
    report = Report(seed)
    with ExitStack() as stack:
        fork_server = stack.enter_context(ForkServer())
        cluster = _start(directory, fork_server, stack)
        history = History()
        nemesis = Nemesis(cluster, fork_server, TOPIC, Random(seed), COORDINATORS)
        shared = cluster.bootstrap_servers, TOPIC, PARTITIONS, history
        producers = (
            ProducerThread("librdkafka", *shared, directory),
            OwnProducerThread("own", *shared),
        )
        consumer = ConsumerThread(cluster.bootstrap_servers, TOPIC, PARTITIONS, history)
        for thread in (*producers, consumer):
            thread.start()
        copy = None
        if workload == TRANSACTIONS:
            copy = TransactionalCopy(
                cluster.bootstrap_servers, TOPIC, PARTITIONS, directory, Random(seed)
            )
            stack.callback(copy.kill)
            copy.start(BROKERS)
        while not is_over(len(report.rounds)):
            report.rounds.append(_round(nemesis, history, *next(faults)))
            last = report.rounds[-1]
            say(
                f"[{len(report.rounds)}] {last.fault} {last.role} ({last.victim}): "
                f"unavailable {last.unavailable_s:.1f} s, {len(history.acked)} acknowledged"
            )
        for producer in producers:
            producer.stop()
        nemesis.wait_until_healed()
        consumer.stop()
        final = read_all(cluster.bootstrap_servers, TOPIC, PARTITIONS)
        sent = [value for producer in producers for value in producer.sent]
        report.sent, report.acked = len(sent), len(history.acked)
        report.failed = len(history.failed)
        if copy is not None:
            report.problems += copy.finish(final)
            say(str(copy))
        stop_brokers(list(cluster.brokers.values()), lambda _: None)
        log_dirs = [Path(d) for b in cluster.brokers.values() for d in b.log_dirs]
        written_by = writers(log_dirs[0], TOPIC, PARTITIONS)
        report.verdict = check(history, final, sent, written_by)
        report.evidence = evidence(report.verdict, history, final)
        report.problems += [f"gap at {place}" for place in gaps(final)]
        report.problems += differing_replicas(log_dirs, TOPIC, PARTITIONS)
    return report


def _start(directory: Path, fork_server: ForkServer, stack: ExitStack) -> LocalCluster:
    cluster = LocalCluster.create(directory, zookeeper=ensemble_config(3), settings=SETTINGS)
    assert cluster.ensemble is not None
    cluster.ensemble.start(60)
    stack.callback(cluster.ensemble.stop)
    for broker_id in range(BROKERS):
        cluster.add_broker(broker_id, free_port(), broker_count=BROKERS)
    brokers = list(cluster.brokers.values())
    stack.callback(stop_brokers, brokers, lambda _: None)
    start_brokers(brokers, fork_server, lambda _: None)
    wait_until_registered(brokers, cluster.brokers)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, BROKERS)])[TOPIC].result(30)
    return cluster


def _round(nemesis: Nemesis, history: History, fault: str, role: str) -> Round:
    """Strike, hold, heal, and wait until all replicas are in sync again."""
    nemesis.wait_until_healed()
    began_s = time.monotonic()
    wound = nemesis.strike(fault, role)
    # A pause must outlast the session: only then others act while the victim believes it leads.
    hold_s = SESSION_TIMEOUT_S + 3 if fault == "pause" else 2
    time.sleep(hold_s)
    wound.heal()
    nemesis.wait_until_healed()
    unavailable_s = history.longest_pause_s(began_s, time.monotonic())
    return Round(fault, role, wound.victim, unavailable_s)
