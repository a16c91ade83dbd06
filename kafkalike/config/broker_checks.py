"""Checks on a broker's configuration as a whole (Kafka's `KafkaConfig.validateValues`)."""

import re
from typing import Final

from kafkalike.config.api_version import api_version, min_version_for_record_version
from kafkalike.config.broker.end_points import BrokerEndPoints
from kafkalike.config.errors import ConfigError, require
from kafkalike.config.listeners import SASL_PROTOCOLS

COMPRESSION_TYPES: Final = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
_HOST: Final = re.compile(r"[0-9a-zA-Z\-%._:]*")
_MEGABYTE: Final = 1024 * 1024
_GSSAPI_ONLY_BEFORE: Final = "0.10.0-IV1"


def check_broker_config(config: BrokerEndPoints) -> None:
    """Raise a `ConfigError` if the values do not go together."""
    _check_identity(config)
    _check_logs(config)
    _check_replication(config)
    _check_listeners(config)
    _check_gateways(config)
    _check_versions(config)
    _check_connections(config)


def _check_identity(config: BrokerEndPoints) -> None:
    if config.process_roles:
        raise ConfigError(
            "process.roles is set, but KRaft mode is not supported: brokers work with ZooKeeper."
        )
    if config.zookeeper_connect is None:
        raise ConfigError(
            "Missing required configuration `zookeeper.connect` which has no default value."
        )
    broker_id = config.effective_broker_id
    if config.broker_id_generation_enable:
        require(
            -1 <= broker_id <= config.reserved_broker_max_id,
            "broker.id must be greater than or equal to -1 "
            "and not greater than reserved.broker.max.id",
        )
    else:
        require(broker_id >= 0, "broker.id must be greater than or equal to 0")


def _check_logs(config: BrokerEndPoints) -> None:
    require(config.log_roll_time_ms >= 1, "log.roll.ms must be greater than or equal to 1")
    require(
        config.log_roll_time_jitter_ms >= 0, "log.roll.jitter.ms must be greater than or equal to 0"
    )
    require(
        config.log_retention_time_ms == -1 or config.log_retention_time_ms >= 1,
        "log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
    )
    require(
        bool(config.log_directories),
        "At least one log directory must be defined via log.dirs or log.dir.",
    )
    threads = config.log_cleaner_threads
    require(
        threads > 0 and config.log_cleaner_dedupe_buffer_size // threads > _MEGABYTE,
        "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
    )
    require(
        config.compression_type.lower() in COMPRESSION_TYPES,
        f"compression.type : {config.compression_type} is not valid. "
        f"Valid options are {','.join(COMPRESSION_TYPES)}",
    )


def _check_replication(config: BrokerEndPoints) -> None:
    require(
        config.replica_fetch_wait_max_ms <= config.replica_socket_timeout_ms,
        "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms"
        " to prevent unnecessary socket timeouts",
    )
    require(
        config.replica_fetch_wait_max_ms <= config.replica_lag_time_max_ms,
        "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms"
        " to prevent frequent changes in ISR",
    )
    acks = config.offsets_commit_required_acks
    require(
        -1 <= acks <= config.offsets_topic_replication_factor,
        "offsets.commit.required.acks must be greater or equal -1 and less or equal to "
        "offsets.topic.replication.factor",
    )
    if config.offsets_topic_compression_codec not in range(5):
        codec = config.offsets_topic_compression_codec
        raise ConfigError(f"{codec} is an unknown compression codec")


def _check_listeners(config: BrokerEndPoints) -> None:
    listeners = [end_point.listener_name for end_point in config.listener_end_points]
    advertised = [end_point.listener_name for end_point in config.advertised_end_points]
    inter_broker = config.inter_broker_listener.listener_name
    options = (
        f"The valid options based on currently configured listeners are {','.join(advertised)}"
    )
    require(
        inter_broker in advertised,
        "inter.broker.listener.name must be a listener name defined in advertised.listeners. "
        + options,
    )
    require(
        set(advertised) <= set(listeners),
        "advertised.listeners listener names must be equal to or a subset of the ones defined in "
        f"listeners. Found {','.join(advertised)}. The valid options based on the current "
        f"configuration are {','.join(listeners)}",
    )
    require(
        all(end_point.host != "0.0.0.0" for end_point in config.advertised_end_points),
        "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. "
        "Use a routable IP address.",
    )
    control_plane = config.control_plane_listener
    if control_plane is not None:
        name = control_plane.listener_name
        require(
            name in advertised,
            "control.plane.listener.name must be a listener name defined in advertised.listeners. "
            + options,
        )
        require(
            name != inter_broker,
            "control.plane.listener.name, when defined, should have a different value from the "
            f"inter broker listener name. Currently they both have the value ListenerName({name})",
        )


def _check_gateways(config: BrokerEndPoints) -> None:
    require(
        not config.gateway,
        "gateway must be set for a listener, as listener.name.X.gateway: among themselves brokers "
        "need a listener that is none.",
    )
    advertised = {end_point.listener_name for end_point in config.advertised_end_points}
    of_brokers = {config.inter_broker_listener.listener_name}
    if config.control_plane_listener is not None:
        of_brokers.add(config.control_plane_listener.listener_name)
    for name in sorted(config.gateway_listeners):
        require(
            name not in of_brokers,
            f"Listener {name} cannot be a gateway: brokers use it among themselves.",
        )
        require(
            name in advertised,
            f"Gateway listener {name} must be in advertised.listeners: its address is all that its "
            "clients are told.",
        )
        require(
            name in config.forwarding_listeners,
            f"Gateway listener {name} needs forwarding.enable=true: its clients can reach no other "
            "broker.",
        )


def _check_versions(config: BrokerEndPoints) -> None:
    version = config.inter_broker_api_version
    record_version = api_version(config.log_message_format_version).record_version
    needed = min_version_for_record_version(record_version).short_version
    require(
        version.record_version >= record_version,
        f"log.message.format.version {config.log_message_format_version} can only be used when "
        f"inter.broker.protocol.version is set to version {needed} or higher",
    )
    listener, protocol = config.inter_broker_listener
    if protocol not in SASL_PROTOCOLS:
        return
    mechanism = config.sasl_mechanism_inter_broker_protocol
    require(
        version >= api_version(_GSSAPI_ONLY_BEFORE) or mechanism == "GSSAPI",
        "Only GSSAPI mechanism is supported for inter-broker communication with SASL when "
        f"inter.broker.protocol.version is set to {config.inter_broker_protocol_version}",
    )
    require(
        mechanism in config.for_listener(listener).sasl_enabled_mechanisms,
        "sasl.mechanism.inter.broker.protocol must be included in sasl.enabled.mechanisms when "
        "SASL is used for inter-broker communication",
    )


def _check_connections(config: BrokerEndPoints) -> None:
    require(
        config.queued_max_request_bytes <= 0
        or config.queued_max_request_bytes >= config.socket_request_max_bytes,
        "queued.max.request.bytes must be larger or equal to socket.request.max.bytes",
    )
    overrides = config.max_connections_per_address
    require(
        config.max_connections_per_ip > 0 or bool(overrides),
        "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides "
        "property is set.",
    )
    invalid = [address for address in overrides if not _HOST.fullmatch(address)]
    if invalid:
        raise ConfigError(
            f"max.connections.per.ip.overrides contains invalid addresses : {','.join(invalid)}"
        )
    idle_ms = config.connections_max_idle_ms
    delay_ms = config.connection_failed_authentication_delay_ms
    require(
        idle_ms < 0 or delay_ms < idle_ms,
        f"connection.failed.authentication.delay.ms={delay_ms} should always be less than "
        f"connections.max.idle.ms={idle_ms} to prevent failed authentication responses from "
        "timing out",
    )
