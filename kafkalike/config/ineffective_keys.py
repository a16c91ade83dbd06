"""Keys that are accepted and checked but that no code reads yet: setting one changes nothing.

Written by `scripts/config-docs` from the code itself; `server` logs the ones that are set.
"""

from collections.abc import Iterable
from typing import Final

INEFFECTIVE_BROKER_KEYS: Final = frozenset(
    {
        "alter.log.dirs.replication.quota.window.num",
        "alter.log.dirs.replication.quota.window.size.seconds",
        "background.threads",
        "broker.heartbeat.interval.ms",
        "broker.session.timeout.ms",
        "control.plane.listener.name",
        "controller.listener.names",
        "controller.quorum.append.linger.ms",
        "controller.quorum.election.backoff.max.ms",
        "controller.quorum.election.timeout.ms",
        "controller.quorum.fetch.timeout.ms",
        "controller.quorum.request.timeout.ms",
        "controller.quorum.retry.backoff.ms",
        "controller.quorum.voters",
        "delete.records.purgatory.purge.interval.requests",
        "fetch.purgatory.purge.interval.requests",
        "initial.broker.registration.timeout.ms",
        "kafka.metrics.polling.interval.secs",
        "kafka.metrics.reporters",
        "log.cleaner.threads",
        "metadata.log.dir",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "num.io.threads",
        "num.network.threads",
        "num.replica.alter.log.dirs.threads",
        "process.roles",
        "producer.purgatory.purge.interval.requests",
        "queued.max.requests",
        "replica.socket.receive.buffer.bytes",
        "sasl.client.callback.handler.class",
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.principal.to.local.rules",
        "sasl.kerberos.service.name",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
        "sasl.login.class",
        "sasl.login.refresh.buffer.seconds",
        "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
        "sasl.mechanism.controller.protocol",
        "security.providers",
        "socket.connection.setup.timeout.max.ms",
        "socket.receive.buffer.bytes",
        "socket.send.buffer.bytes",
        "ssl.engine.factory.class",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        "zookeeper.clientCnxnSocket",
        "zookeeper.ssl.cipher.suites",
        "zookeeper.ssl.crl.enable",
        "zookeeper.ssl.enabled.protocols",
        "zookeeper.ssl.ocsp.enable",
        "zookeeper.ssl.protocol",
        "zookeeper.sync.time.ms",
    }
)
INEFFECTIVE_TOPIC_KEYS: Final[frozenset[str]] = frozenset()


def ineffective_settings(names: Iterable[str]) -> list[str]:
    """Return those of a broker's settings that have no effect, sorted."""
    return sorted(INEFFECTIVE_BROKER_KEYS.intersection(names))
