"""The configuration of a broker: every key of Kafka 2.8 in one frozen object (`KafkaConfig`).

The keys are declared by subject in `config/broker/`; an attribute is a key with its dots replaced
by underscores (`config.log_segment_bytes`). What follows from several keys has names of its own:
`listener_end_points`, `log_directories`, `log_retention_time_ms` and so on.
"""

from collections.abc import Mapping
from typing import Self

from kafkalike.config.broker.end_points import BrokerEndPoints
from kafkalike.config.broker_checks import check_broker_config


class BrokerConfig(BrokerEndPoints):
    """A broker's configuration. It never changes: a dynamic update makes another object."""

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> Self:
        """Read and check a whole configuration, or raise a `ConfigError`."""
        config = cls(originals=properties, **cls.parse(properties))
        check_broker_config(config)
        return config
