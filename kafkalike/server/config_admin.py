"""Configurations are described and altered (Kafka's ZkAdminManager and ConfigHelper).

What is altered goes to ZooKeeper, with a change notification by which all brokers, this one too,
hear of it. Log levels are this broker's own and are changed at once.
"""

from collections.abc import Awaitable, Iterable, Mapping, Sequence

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from kafkalike.cluster.metadata_cache import MetadataCache
from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.errors import ConfigError
from kafkalike.config.topic_config import TopicConfig, validate_overrides
from kafkalike.config.value_types import ConfigType as ValueType
from kafkalike.model.topic import why_invalid
from kafkalike.protocol.errors import (
    InvalidRequestError,
    InvalidTopicError,
    KafkaError,
    UnknownServerError,
    UnknownTopicOrPartitionError,
)
from kafkalike.server.api_error import NO_ERROR, UNKNOWN_ERROR, ApiError
from kafkalike.server.broker_loggers import ROOT_LOGGER, BrokerLoggers
from kafkalike.server.config_entry import (
    ConfigEntry,
    broker_default_entries,
    broker_entries,
    topic_entries,
)
from kafkalike.server.config_operations import (
    AlterConfigOp,
    OpType,
    apply_operations,
    check_operations,
)
from kafkalike.server.config_resource import (
    ConfigResource,
    ConfigSource,
    ResourceType,
    broker_id_of,
)
from kafkalike.server.dynamic_config import DynamicConfig
from kafkalike.server.policies import AlterConfigMetadata, alter_config_policy
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.errors import ZkError
from kafkalike.zk.znodes.configs import DEFAULT_ENTITY, ConfigType

log = Logger()

Altered = dict[ConfigResource, ApiError]


class ConfigAdmin:
    """Carries out DescribeConfigs, AlterConfigs and IncrementalAlterConfigs."""

    def __init__(
        self,
        dynamic_config: DynamicConfig,
        metadata_cache: MetadataCache,
        zk: KafkaZkClient,
        loggers: BrokerLoggers,
    ) -> None:
        self._dynamic_config = dynamic_config
        self._metadata_cache = metadata_cache
        self._zk = zk
        self._loggers = loggers
        self._policy = alter_config_policy(dynamic_config.current)

    # --- describe

    async def describe(self, resource: ConfigResource) -> list[ConfigEntry]:
        """Give all configurations of a resource, or raise a `KafkaError` that says why not."""
        try:
            return list(await self._describe(resource))
        except (ConfigError, ZkError) as error:
            log.error("{resource} cannot be described: {error}", resource=resource, error=error)
            raise UnknownServerError from error

    async def _describe(self, resource: ConfigResource) -> Iterable[ConfigEntry]:
        match resource.type:
            case ResourceType.TOPIC:
                return await self._describe_topic(resource.name)
            case ResourceType.BROKER:
                return self._describe_broker(resource.name)
            case ResourceType.BROKER_LOGGER:
                return self._describe_loggers(resource.name)
        raise InvalidRequestError(f"Unsupported resource type: {resource.type.name}")

    async def _describe_topic(self, topic: str) -> Iterable[ConfigEntry]:
        reason = why_invalid(topic)
        if reason is not None:
            raise InvalidTopicError(reason)
        if topic not in self._metadata_cache.snapshot.topics:
            raise UnknownTopicOrPartitionError
        overrides = await self._zk.get_entity_configs(ConfigType.TOPIC, topic)
        current = self._dynamic_config.current
        return topic_entries(current, overrides, self._dynamic_config.sources)

    def _describe_broker(self, name: str) -> Iterable[ConfigEntry]:
        dynamic = self._dynamic_config
        if not name:
            return broker_default_entries(dynamic.sources)
        if broker_id_of(name) != dynamic.broker_id:
            raise InvalidRequestError(
                f"Unexpected broker id, expected {dynamic.broker_id} or empty string, but received "
                f"{name}"
            )
        return broker_entries(dynamic.current, dynamic.sources, include_internal=dynamic.is_updated)

    def _describe_loggers(self, name: str) -> Iterable[ConfigEntry]:
        if not name:
            raise InvalidRequestError("Broker id must not be empty")
        broker_id = self._dynamic_config.broker_id
        if broker_id_of(name) != broker_id:
            raise InvalidRequestError(
                f"Unexpected broker id, expected {broker_id} but received {name}"
            )
        source = ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG
        return [
            ConfigEntry(logger, level, source, False, False, ValueType.UNKNOWN, (), "")
            for logger, level in self._loggers.levels().items()
        ]

    # --- alter

    async def alter(
        self,
        configs: Mapping[ConfigResource, Mapping[str, str | None]],
        *,
        validate_only: bool,
    ) -> Altered:
        """Give each resource exactly these configurations; what is not named is reset."""
        altered = {}
        for resource, wanted in configs.items():
            attempt = self._replace(resource, wanted, validate_only=validate_only)
            altered[resource] = await _outcome(attempt, resource)
        return altered

    async def _replace(
        self, resource: ConfigResource, wanted: Mapping[str, str | None], *, validate_only: bool
    ) -> None:
        nulls = [name for name, value in wanted.items() if value is None]
        if nulls:
            raise InvalidRequestError(f"Null value not supported for : {','.join(nulls)}")
        properties = {name: value for name, value in wanted.items() if value is not None}
        await self._write(resource, properties, wanted, validate_only=validate_only)

    async def incremental_alter(
        self, configs: Mapping[ConfigResource, Sequence[AlterConfigOp]], *, validate_only: bool
    ) -> Altered:
        """Change single configurations of each resource."""
        altered = {}
        for resource, operations in configs.items():
            attempt = self._change(resource, operations, validate_only=validate_only)
            altered[resource] = await _outcome(attempt, resource)
        return altered

    async def _change(
        self, resource: ConfigResource, operations: Sequence[AlterConfigOp], *, validate_only: bool
    ) -> None:
        check_operations(operations)
        asked = {operation.name: operation.value for operation in operations}
        match resource.type:
            case ResourceType.TOPIC:
                current = await self._zk.get_entity_configs(ConfigType.TOPIC, resource.name)
                keys = TopicConfig.KEYS
            case ResourceType.BROKER:
                current = await self._broker_configs(self._broker_entity(resource))
                keys = BrokerConfig.KEYS
            case ResourceType.BROKER_LOGGER:
                self._broker_entity(resource)
                self._change_levels(operations, validate_only=validate_only)
                return
            case _:
                raise _unsupported(resource)
        properties = apply_operations(current, operations, keys)
        await self._write(resource, properties, asked, validate_only=validate_only)

    async def _write(
        self,
        resource: ConfigResource,
        properties: Mapping[str, str],
        asked: Mapping[str, str | None],
        *,
        validate_only: bool,
    ) -> None:
        match resource.type:
            case ResourceType.TOPIC:
                await self._check_topic(resource.name, properties)
                kind, entity = ConfigType.TOPIC, resource.name
            case ResourceType.BROKER:
                kind, entity = ConfigType.BROKER, self._broker_entity(resource)
                self._dynamic_config.validate(properties, per_broker=entity != DEFAULT_ENTITY)
            case _:
                raise _unsupported(resource)
        if self._policy is not None:
            self._policy.validate(AlterConfigMetadata(resource, asked))
        if validate_only:
            return
        if kind is ConfigType.BROKER:
            properties = self._dynamic_config.persistent.encode(
                properties, per_broker=entity != DEFAULT_ENTITY
            )
        log.info("altering {resource}: {names}", resource=resource, names=", ".join(properties))
        await self._zk.set_or_create_entity_configs(kind, entity, properties)
        await self._zk.create_config_change_notification(f"{kind}/{entity}")

    async def _broker_configs(self, entity: str) -> dict[str, str]:
        """Read what of a broker's znode is valid: the rest must not stand in a change's way."""
        found = await self._zk.get_entity_configs(ConfigType.BROKER, entity)
        return self._dynamic_config.persistent.decode(found, per_broker=entity != DEFAULT_ENTITY)

    async def _check_topic(self, topic: str, properties: Mapping[str, str]) -> None:
        if topic not in self._metadata_cache.snapshot.topics:
            raise UnknownTopicOrPartitionError(f"The topic '{topic}' does not exist.")
        if not await self._zk.topic_exists(topic):
            raise UnknownTopicOrPartitionError(f"Topic '{topic}' does not exist.")
        validate_overrides(properties)

    def _broker_entity(self, resource: ConfigResource) -> str:
        if not resource.name:
            return DEFAULT_ENTITY
        if broker_id_of(resource.name) != self._dynamic_config.broker_id:
            raise InvalidRequestError(
                f"Unexpected broker id, expected {self._dynamic_config.broker_id}, but received "
                f"{resource.name}"
            )
        return str(self._dynamic_config.broker_id)

    # --- log levels

    def _change_levels(self, operations: Sequence[AlterConfigOp], *, validate_only: bool) -> None:
        for operation in operations:
            self._check_level(operation)
        if not validate_only:
            for name, _, level in operations:
                if level is None:
                    self._loggers.unset_level(name)
                else:
                    self._loggers.set_level(name, level)

    def _check_level(self, operation: AlterConfigOp) -> None:
        name, kind, level = operation
        if kind is not OpType.SET and kind is not OpType.DELETE:
            word = "UNKNOWN" if kind is None else kind.name
            raise InvalidRequestError(
                f"{word} operation is not allowed for the BROKER_LOGGER resource"
            )
        self._loggers.check_exists(name)
        if kind is OpType.SET and level is not None:
            self._loggers.check_level(name, level)
        elif name == ROOT_LOGGER:
            raise InvalidRequestError(
                f"Removing the log level of the {ROOT_LOGGER} logger is not allowed"
            )


async def _outcome(attempt: Awaitable[None], resource: ConfigResource) -> ApiError:
    """Alter one resource; the others of the request go on whatever comes of it."""
    try:
        await attempt
    except ConfigError as error:
        message = f"Invalid config value for resource {resource}: {error.message}"
        log.info("{message}", message=message)
        return ApiError.of(InvalidRequestError(message))
    except KafkaError as error:
        log.info("altering {resource} failed: {error}", resource=resource, error=error)
        return ApiError.of(error)
    except ZkError as error:
        log.error("altering {resource} failed: {error}", resource=resource, error=error)
        return UNKNOWN_ERROR
    except CancelledError:
        raise
    except Exception:  # noqa: BLE001 (our bug, or the policy's: the others of the request go on)
        log.failure("altering {resource} failed", resource=resource)
        return UNKNOWN_ERROR
    return NO_ERROR


def _unsupported(resource: ConfigResource) -> InvalidRequestError:
    return InvalidRequestError(
        "AlterConfigs is only supported for topics and brokers, but resource type is "
        f"{resource.type.name}"
    )
