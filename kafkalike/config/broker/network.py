"""Keys about listeners, connections and requests."""

from kafkalike.config.checks import at_least
from kafkalike.config.definition import (
    CLUSTER_WIDE,
    HIGH,
    INT,
    LONG,
    LOW,
    MAX_INT,
    PER_BROKER,
    Config,
    key,
)


class NetworkKeys(Config):
    """Where the broker listens, what it says about that, and what a connection may do."""

    port: int = key(
        "port", 9092, "DEPRECATED: port to listen at if listeners is not set.", importance=HIGH
    )
    host_name: str = key(
        "host.name",
        "",
        "DEPRECATED: address to bind to if listeners is not set; empty means all interfaces.",
        importance=HIGH,
    )
    listeners: str | None = key(
        "listeners",
        None,
        "Addresses to listen at, as name://host:port with commas between. A name that is not a "
        "security protocol needs listener.security.protocol.map. An empty host means the default "
        "interface, 0.0.0.0 all of them. Names and ports are distinct.",
        importance=HIGH,
        dynamic=PER_BROKER,
    )
    advertised_host_name: str | None = key(
        "advertised.host.name",
        None,
        "DEPRECATED: host name told to clients if advertised.listeners and listeners are not set.",
        importance=HIGH,
    )
    advertised_port: int | None = key(
        "advertised.port",
        None,
        "DEPRECATED: port told to clients if advertised.listeners and listeners are not set.",
        type=INT,
        importance=HIGH,
    )
    advertised_listeners: str | None = key(
        "advertised.listeners",
        None,
        "Addresses published in ZooKeeper for clients to use, where they differ from listeners. "
        "0.0.0.0 cannot be advertised; ports may repeat.",
        importance=HIGH,
        dynamic=PER_BROKER,
    )
    listener_security_protocol_map: str = key(
        "listener.security.protocol.map",
        "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
        "The security protocol of each listener name, as name:protocol with commas between.",
        importance=LOW,
        dynamic=PER_BROKER,
    )
    control_plane_listener_name: str | None = key(
        "control.plane.listener.name",
        None,
        "Listener for requests of the controller alone; without it they share the others.",
        importance=HIGH,
    )
    socket_send_buffer_bytes: int = key(
        "socket.send.buffer.bytes",
        102400,
        "SO_SNDBUF of the server's sockets; -1 is the system's default.",
        importance=HIGH,
    )
    socket_receive_buffer_bytes: int = key(
        "socket.receive.buffer.bytes",
        102400,
        "SO_RCVBUF of the server's sockets; -1 is the system's default.",
        importance=HIGH,
    )
    socket_request_max_bytes: int = key(
        "socket.request.max.bytes",
        104857600,
        "Largest size of a request.",
        check=at_least(1),
        importance=HIGH,
    )
    max_connections_per_ip: int = key(
        "max.connections.per.ip",
        MAX_INT,
        "Most connections from one address; 0 if overrides name the addresses that may connect.",
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
    )
    max_connections_per_ip_overrides: str = key(
        "max.connections.per.ip.overrides",
        "",
        "Other limits for some addresses or host names, such as hostName:100,127.0.0.1:200.",
        dynamic=CLUSTER_WIDE,
    )
    max_connections: int = key(
        "max.connections",
        MAX_INT,
        "Most connections of the broker; with a listener prefix, of that listener. The "
        "inter-broker listener goes on accepting by closing the longest idle connection of others.",
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
    )
    max_connection_creation_rate: int = key(
        "max.connection.creation.rate",
        MAX_INT,
        "Most new connections per second of the broker; with a listener prefix, of that listener.",
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
    )
    connections_max_idle_ms: int = key(
        "connections.max.idle.ms",
        600000,
        "Connections that are idle for longer are closed.",
        type=LONG,
    )
    connection_failed_authentication_delay_ms: int = key(
        "connection.failed.authentication.delay.ms",
        100,
        "How long closing a connection is delayed after authentication failed.",
        check=at_least(0),
        importance=LOW,
    )
    queued_max_requests: int = key(
        "queued.max.requests",
        500,
        "Requests that may wait before the network threads block.",
        check=at_least(1),
        importance=HIGH,
    )
    queued_max_request_bytes: int = key(
        "queued.max.request.bytes",
        -1,
        "Bytes of requests that may wait before no more are read.",
        type=LONG,
    )
    socket_connection_setup_timeout_ms: int = key(
        "socket.connection.setup.timeout.ms",
        10000,
        "How long to wait for a connection to be made before the socket is closed.",
        type=LONG,
    )
    socket_connection_setup_timeout_max_ms: int = key(
        "socket.connection.setup.timeout.max.ms",
        30000,
        "The wait for a connection grows with each failure in a row up to this, with some jitter.",
        type=LONG,
    )
    max_incremental_fetch_session_cache_slots: int = key(
        "max.incremental.fetch.session.cache.slots",
        1000,
        "Most incremental fetch sessions kept.",
        check=at_least(0),
    )
    fetch_max_bytes: int = key(
        "fetch.max.bytes",
        57671680,
        "Most bytes answered to one fetch request, at least 1024.",
        check=at_least(1024),
    )
