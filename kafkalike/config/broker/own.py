"""Keys that Apache Kafka does not have. Each has an entry in docs/deviations.md."""

from kafkalike.config.definition import CLASS, Config, key


class OwnKeys(Config):
    """What kafkalike does beyond Kafka, and how to switch it off."""

    last_replica_flush_enable: bool = key(
        "last.replica.flush.enable",
        True,
        "Where replicas have left the ISR and it is at min.insync.replicas or below, bring records "
        "to the disk before acks=all is answered, so that a crash of the last replicas loses none.",
    )
    forwarding_enable: bool = key(
        "forwarding.enable",
        True,
        "Send requests for partitions that another broker leads, or for the controller, on to that "
        "broker and relay its answer, instead of refusing them; with a listener prefix, for the "
        "clients of that listener.",
    )
    gateway: bool = key(
        "gateway",
        False,
        "Only with a listener prefix (listener.name.X.gateway): clients of that listener see this "
        "broker alone, as leader, coordinator and controller of everything, and reach the whole "
        "cluster through it.",
    )
    record_interceptor_class_name: str | None = key(
        "record.interceptor.class.name",
        None,
        "Python class, as package.module.Class, whose on_record(topic, partition, record) looks at "
        "every record that clients produce, and may refuse it by returning the reason.",
        type=CLASS,
    )
