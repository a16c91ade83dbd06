"""Keys about replication, leadership and the controller."""

from kafkalike.config.checks import IS_API_VERSION, at_least
from kafkalike.config.definition import CLUSTER_WIDE, HIGH, LONG, Config, key


class ReplicationKeys(Config):
    """How followers fetch, when they are in sync, and how brokers talk to each other."""

    default_replication_factor: int = key(
        "default.replication.factor", 1, "Replication factor of topics created automatically."
    )
    min_insync_replicas: int = key(
        "min.insync.replicas",
        1,
        "Replicas that must be in sync for a write with acks=all to be accepted.",
        check=at_least(1),
        importance=HIGH,
        dynamic=CLUSTER_WIDE,
    )
    controller_socket_timeout_ms: int = key(
        "controller.socket.timeout.ms", 30000, "Socket timeout from the controller to brokers."
    )
    replica_lag_time_max_ms: int = key(
        "replica.lag.time.max.ms",
        30000,
        "A follower that sent no fetch, or did not reach the leader's log end, for this long "
        "leaves the in-sync replicas.",
        type=LONG,
        importance=HIGH,
    )
    replica_socket_timeout_ms: int = key(
        "replica.socket.timeout.ms",
        30000,
        "Socket timeout of followers, at least replica.fetch.wait.max.ms.",
        importance=HIGH,
    )
    replica_socket_receive_buffer_bytes: int = key(
        "replica.socket.receive.buffer.bytes",
        65536,
        "SO_RCVBUF of the sockets that followers fetch with.",
        importance=HIGH,
    )
    replica_fetch_max_bytes: int = key(
        "replica.fetch.max.bytes",
        1048576,
        "Bytes to fetch per partition; a larger first batch is returned all the same.",
        check=at_least(0),
    )
    replica_fetch_wait_max_ms: int = key(
        "replica.fetch.wait.max.ms",
        500,
        "Longest wait of a follower's fetch; below replica.lag.time.max.ms, or the in-sync "
        "replicas of quiet topics shrink.",
        importance=HIGH,
    )
    replica_fetch_backoff_ms: int = key(
        "replica.fetch.backoff.ms",
        1000,
        "Pause after a partition could not be fetched.",
        check=at_least(0),
    )
    replica_fetch_min_bytes: int = key(
        "replica.fetch.min.bytes",
        1,
        "Bytes a follower's fetch waits for, up to replica.fetch.wait.max.ms.",
        importance=HIGH,
    )
    replica_fetch_response_max_bytes: int = key(
        "replica.fetch.response.max.bytes",
        10485760,
        "Bytes to fetch in all; a larger first batch is returned all the same.",
        check=at_least(0),
    )
    num_replica_fetchers: int = key(
        "num.replica.fetchers",
        1,
        "Fetchers per source broker.",
        importance=HIGH,
        dynamic=CLUSTER_WIDE,
    )
    replica_high_watermark_checkpoint_interval_ms: int = key(
        "replica.high.watermark.checkpoint.interval.ms",
        5000,
        "How often high watermarks are written to disk.",
        type=LONG,
        importance=HIGH,
    )
    fetch_purgatory_purge_interval_requests: int = key(
        "fetch.purgatory.purge.interval.requests",
        1000,
        "Requests between two purges of the fetch purgatory.",
    )
    producer_purgatory_purge_interval_requests: int = key(
        "producer.purgatory.purge.interval.requests",
        1000,
        "Requests between two purges of the produce purgatory.",
    )
    delete_records_purgatory_purge_interval_requests: int = key(
        "delete.records.purgatory.purge.interval.requests",
        1,
        "Requests between two purges of the delete-records purgatory.",
    )
    auto_leader_rebalance_enable: bool = key(
        "auto.leader.rebalance.enable",
        True,
        "Give leadership back to preferred leaders when the imbalance is above "
        "leader.imbalance.per.broker.percentage.",
        importance=HIGH,
    )
    leader_imbalance_per_broker_percentage: int = key(
        "leader.imbalance.per.broker.percentage",
        10,
        "Leader imbalance of a broker, in percent, above which the controller rebalances.",
        importance=HIGH,
    )
    leader_imbalance_check_interval_seconds: int = key(
        "leader.imbalance.check.interval.seconds",
        300,
        "How often the controller checks the leader imbalance.",
        type=LONG,
        importance=HIGH,
    )
    unclean_leader_election_enable: bool = key(
        "unclean.leader.election.enable",
        False,
        "Let replicas that are not in sync become leader as a last resort; data may be lost.",
        importance=HIGH,
        dynamic=CLUSTER_WIDE,
    )
    security_inter_broker_protocol: str = key(
        "security.inter.broker.protocol",
        "PLAINTEXT",
        "Security protocol between brokers: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL. Not together "
        "with inter.broker.listener.name.",
    )
    inter_broker_protocol_version: str = key(
        "inter.broker.protocol.version",
        "2.8-IV1",
        "Version of the protocol between brokers; raised after all brokers have been upgraded.",
        check=IS_API_VERSION,
    )
    inter_broker_listener_name: str | None = key(
        "inter.broker.listener.name",
        None,
        "Listener that brokers use among themselves. Not together with "
        "security.inter.broker.protocol.",
    )
    replica_selector_class: str | None = key(
        "replica.selector.class",
        None,
        "Class that chooses the replica a consumer reads from (ReplicaSelector); the leader if not "
        "set.",
    )
