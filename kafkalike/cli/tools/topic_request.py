"""What `kafka-topics` is to make of a topic: partitions, replicas, configs, from the options."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final, Self

from kafkalike.cli.tools.support.errors import IllegalArgumentError, JavaError
from kafkalike.cli.tools.support.options import Parsed
from kafkalike.cli.tools.support.tool import print_line
from kafkalike.protocol.errors import InvalidConfigurationError

_FORMAT_VERSION: Final = "message.format.version"


@dataclass(frozen=True, slots=True)
class TopicRequest:
    """A topic as it shall be; None leaves it to the cluster."""

    name: str
    partitions: int | None
    replication_factor: int | None
    assignment: dict[int, list[int]] | None
    configs: dict[str, str]
    configs_to_delete: list[str]

    @classmethod
    def of(cls, parsed: Parsed) -> Self:
        """Read the options; refuses what no broker would take."""
        assignment = parsed.value("replica-assignment")
        return cls(
            parsed.value("topic"),
            parsed.value("partitions"),
            parsed.value("replication-factor"),
            parse_assignment(assignment) if assignment else None,
            parse_configs(parsed.values("config")),
            parse_names(parsed.values("delete-config")),
        )


def parse_configs(texts: list[str]) -> dict[str, str]:
    """Read `key=value` configs of a topic and check them."""
    pairs = [re.split(r"\s*=\s*", text) for text in texts]
    if any(len(pair) != 2 for pair in pairs):
        raise IllegalArgumentError(
            "requirement failed: Invalid topic config: all configs to be added must be in the "
            'format "key=val".'
        )
    configs = {name.strip(): value.strip() for name, value in pairs}
    if configs:
        # Inside, because the tables of configs take a while to load, and few commands need them.
        from kafkalike.config.topic_config import validate_overrides

        validate_overrides(configs)
    if _FORMAT_VERSION in configs:
        print_line(
            f"WARNING: The configuration {_FORMAT_VERSION}={configs[_FORMAT_VERSION]} is specified."
            " This configuration will be ignored if the version is newer than the"
            " inter.broker.protocol.version specified in the broker."
        )
    return configs


def parse_names(texts: list[str]) -> list[str]:
    """Read names of configs and check that there are such."""
    names = [text.strip() for text in texts]
    if names:
        from kafkalike.config.topic_config import TopicConfig

        for name in names:
            if name not in TopicConfig.KEYS:
                raise InvalidConfigurationError(f"Unknown topic config name: {name}")
    return names


def parse_assignment(text: str) -> dict[int, list[int]]:
    """Read the replicas of each partition: `1:2:3,2:3:1`."""
    found: dict[int, list[int]] = {}
    for partition, part in enumerate(text.split(",")):
        brokers = [_broker(broker) for broker in part.split(":")]
        twice = [broker for broker, times in Counter(brokers).items() if times > 1]
        if twice:
            raise JavaError(
                "kafka.common.AdminCommandFailedException",
                "Partition replica lists may not contain duplicate entries: "
                + ",".join(map(str, twice)),
            )
        found[partition] = brokers
        if len(brokers) != len(found[0]):
            # Kafka prints a Java array here, `[I@` and a number; the brokers say more.
            raise JavaError(
                "kafka.admin.AdminOperationException",
                f"Partition {partition} has different replication factor: {brokers}",
            )
    return found


def _broker(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise JavaError(
            "java.lang.NumberFormatException", f'For input string: "{text.strip()}"'
        ) from None
