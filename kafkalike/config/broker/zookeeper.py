"""Keys about the connection to ZooKeeper."""

from kafkalike.config.checks import at_least
from kafkalike.config.definition import HIGH, INT, LIST, LOW, PASSWORD, Config, key
from kafkalike.config.value_types import Password


class ZookeeperKeys(Config):
    """Where ZooKeeper is, how long a session lasts, and how the connection is secured."""

    zookeeper_connect: str | None = key(
        "zookeeper.connect",
        None,
        "The ZooKeeper servers as host1:port1,host2:port2,host3:port3; a path at the end (a "
        "chroot) puts the cluster's znodes below it.",
        importance=HIGH,
    )
    zookeeper_session_timeout_ms: int = key(
        "zookeeper.session.timeout.ms", 18000, "ZooKeeper session timeout.", importance=HIGH
    )
    zookeeper_connection_timeout_ms: int | None = key(
        "zookeeper.connection.timeout.ms",
        None,
        "How long to wait for a connection to ZooKeeper; zookeeper.session.timeout.ms if not set.",
        type=INT,
        importance=HIGH,
    )
    zookeeper_sync_time_ms: int = key(
        "zookeeper.sync.time.ms",
        2000,
        "How far a ZooKeeper follower can be behind its leader.",
        importance=LOW,
    )
    zookeeper_set_acl: bool = key(
        "zookeeper.set.acl", False, "Set secure ACLs on znodes.", importance=HIGH
    )
    zookeeper_max_in_flight_requests: int = key(
        "zookeeper.max.in.flight.requests",
        10,
        "Most requests sent to ZooKeeper before one is answered.",
        check=at_least(1),
        importance=HIGH,
    )
    zookeeper_ssl_client_enable: bool = key(
        "zookeeper.ssl.client.enable", False, "Use TLS to connect to ZooKeeper."
    )
    zookeeper_clientCnxnSocket: str | None = key(
        "zookeeper.clientCnxnSocket",
        None,
        "Java class of the ZooKeeper client's socket, which TLS needs there.",
    )
    zookeeper_ssl_keystore_location: str | None = key(
        "zookeeper.ssl.keystore.location",
        None,
        "Key store with the client certificate for ZooKeeper.",
    )
    zookeeper_ssl_keystore_password: Password | None = key(
        "zookeeper.ssl.keystore.password",
        None,
        "Password of the key store for ZooKeeper.",
        type=PASSWORD,
    )
    zookeeper_ssl_keystore_type: str | None = key(
        "zookeeper.ssl.keystore.type", None, "Type of the key store for ZooKeeper."
    )
    zookeeper_ssl_truststore_location: str | None = key(
        "zookeeper.ssl.truststore.location",
        None,
        "Trust store to check ZooKeeper's certificate with.",
    )
    zookeeper_ssl_truststore_password: Password | None = key(
        "zookeeper.ssl.truststore.password",
        None,
        "Password of the trust store for ZooKeeper.",
        type=PASSWORD,
    )
    zookeeper_ssl_truststore_type: str | None = key(
        "zookeeper.ssl.truststore.type", None, "Type of the trust store for ZooKeeper."
    )
    zookeeper_ssl_protocol: str = key(
        "zookeeper.ssl.protocol",
        "TLSv1.2",
        "TLS version for ZooKeeper, where the enabled ones are not listed.",
        importance=LOW,
    )
    zookeeper_ssl_enabled_protocols: tuple[str, ...] | None = key(
        "zookeeper.ssl.enabled.protocols",
        None,
        "TLS versions that may be negotiated with ZooKeeper.",
        type=LIST,
        importance=LOW,
    )
    zookeeper_ssl_cipher_suites: tuple[str, ...] | None = key(
        "zookeeper.ssl.cipher.suites",
        None,
        "Cipher suites that may be negotiated with ZooKeeper.",
        type=LIST,
        importance=LOW,
    )
    zookeeper_ssl_endpoint_identification_algorithm: str = key(
        "zookeeper.ssl.endpoint.identification.algorithm",
        "HTTPS",
        "HTTPS checks ZooKeeper's host name against its certificate, an empty value does not.",
        importance=LOW,
    )
    zookeeper_ssl_crl_enable: bool = key(
        "zookeeper.ssl.crl.enable",
        False,
        "Check ZooKeeper's certificate against revocation lists.",
        importance=LOW,
    )
    zookeeper_ssl_ocsp_enable: bool = key(
        "zookeeper.ssl.ocsp.enable",
        False,
        "Check ZooKeeper's certificate with the Online Certificate Status Protocol.",
        importance=LOW,
    )
