"""Internal keys of Kafka 2.8 for clusters without ZooKeeper (KRaft).

They are accepted and have no effect, apart from `process.roles`, which is refused, and `node.id`,
which is another name for `broker.id`.
"""

from kafkalike.config.checks import IS_VOTER_LIST, one_of
from kafkalike.config.definition import HIGH, LOW, Config, key


class KRaftKeys(Config):
    """Kafka's early access to a cluster without ZooKeeper."""

    process_roles: tuple[str, ...] = key(
        "process.roles",
        (),
        "Roles of a node in KRaft mode; empty means ZooKeeper.",
        check=one_of("broker", "controller"),
        importance=HIGH,
        internal=True,
    )
    node_id: int = key(
        "node.id", -1, "The id of this node in KRaft mode.", importance=HIGH, internal=True
    )
    initial_broker_registration_timeout_ms: int = key(
        "initial.broker.registration.timeout.ms",
        60000,
        "KRaft: how long a starting broker waits to be registered.",
        internal=True,
    )
    broker_heartbeat_interval_ms: int = key(
        "broker.heartbeat.interval.ms", 2000, "KRaft: time between heartbeats.", internal=True
    )
    broker_session_timeout_ms: int = key(
        "broker.session.timeout.ms", 9000, "KRaft: lease of a broker's session.", internal=True
    )
    metadata_log_dir: str | None = key(
        "metadata.log.dir",
        None,
        "KRaft: directory of the metadata log; the first log directory if not set.",
        importance=HIGH,
        internal=True,
    )
    controller_listener_names: str | None = key(
        "controller.listener.names",
        None,
        "KRaft: listeners of the controller.",
        importance=HIGH,
        internal=True,
    )
    sasl_mechanism_controller_protocol: str = key(
        "sasl.mechanism.controller.protocol",
        "GSSAPI",
        "KRaft: SASL mechanism towards controllers.",
        importance=HIGH,
        internal=True,
    )
    controller_quorum_voters: tuple[str, ...] = key(
        "controller.quorum.voters",
        (),
        "KRaft: id and address of each voter.",
        check=IS_VOTER_LIST,
        importance=HIGH,
        internal=True,
    )
    controller_quorum_election_timeout_ms: int = key(
        "controller.quorum.election.timeout.ms",
        1000,
        "KRaft: wait for the leader before a new election.",
        importance=HIGH,
        internal=True,
    )
    controller_quorum_fetch_timeout_ms: int = key(
        "controller.quorum.fetch.timeout.ms",
        2000,
        "KRaft: time without a successful fetch before a node becomes a candidate.",
        importance=HIGH,
        internal=True,
    )
    controller_quorum_election_backoff_max_ms: int = key(
        "controller.quorum.election.backoff.max.ms",
        1000,
        "KRaft: longest pause before another election.",
        importance=HIGH,
        internal=True,
    )
    controller_quorum_append_linger_ms: int = key(
        "controller.quorum.append.linger.ms",
        25,
        "KRaft: how long the leader gathers writes before it flushes.",
        internal=True,
    )
    controller_quorum_request_timeout_ms: int = key(
        "controller.quorum.request.timeout.ms",
        2000,
        "KRaft: how long a request within the quorum may take.",
        internal=True,
    )
    controller_quorum_retry_backoff_ms: int = key(
        "controller.quorum.retry.backoff.ms",
        20,
        "KRaft: pause before a failed request is retried.",
        importance=LOW,
        internal=True,
    )
