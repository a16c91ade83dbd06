"""Policies: a site's own rules about new topics and altered configurations.

`create.topic.policy.class.name` and `alter.config.policy.class.name` name Python classes, as
`package.module.ClassName`. An object of the class has `validate(request)`, which raises
PolicyViolationError with its reason, and may have `configure(properties)`, called once.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.server.config_resource import ConfigResource
from kafkalike.server.plugins import configured


class CreateTopicMetadata(NamedTuple):
    """The topic that somebody wants; either partitions and factor are None or the assignments."""

    topic: str
    num_partitions: int | None
    replication_factor: int | None
    replicas_assignments: Mapping[int, Sequence[int]] | None
    configs: Mapping[str, str]


class AlterConfigMetadata(NamedTuple):
    """The configuration that somebody wants to give a resource."""

    resource: ConfigResource
    configs: Mapping[str, str | None]


class CreateTopicPolicy(Protocol):
    """Decides about new topics."""

    def validate(self, request: CreateTopicMetadata) -> None:
        """Raise PolicyViolationError if the topic may not be created like this."""


class AlterConfigPolicy(Protocol):
    """Decides about altered configurations."""

    def validate(self, request: AlterConfigMetadata) -> None:
        """Raise PolicyViolationError if the configuration may not be altered like this."""


def create_topic_policy(config: BrokerConfig) -> CreateTopicPolicy | None:
    """Build the policy of `create.topic.policy.class.name`, if there is one."""
    policy: CreateTopicPolicy | None = configured(
        config, "create.topic.policy.class.name", "validate"
    )
    return policy


def alter_config_policy(config: BrokerConfig) -> AlterConfigPolicy | None:
    """Build the policy of `alter.config.policy.class.name`, if there is one."""
    policy: AlterConfigPolicy | None = configured(
        config, "alter.config.policy.class.name", "validate"
    )
    return policy
