"""The configuration that holds now: server.properties with what ZooKeeper lays over it.

Kafka's `DynamicBrokerConfig` (the state) and `DynamicConfigManager` (hearing of changes). Who needs
the current value of a key asks `current`; who must act on a change subscribes.
"""

from collections.abc import Callable, Mapping

from twisted.logger import Logger

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.errors import ConfigError
from kafkalike.config.topic_config import TopicConfig
from kafkalike.server.config_entry import ConfigSources
from kafkalike.server.dynamic_broker_config import (
    ReplicationQuotaKeys,
    override,
    validate_dynamic_configs,
)
from kafkalike.server.persistent_configs import PersistentConfigs
from kafkalike.server.reconfiguration import check_reconfiguration
from kafkalike.utils.gather import gather
from kafkalike.utils.time import Time
from kafkalike.zk.change_notification import ZkNodeChangeNotificationListener
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.znodes.configs import DEFAULT_ENTITY, ConfigChangeZNode, ConfigType

log = Logger()

EntityHandler = Callable[[str, Mapping[str, str]], None]
"""Is told the name of an entity and its configs, whenever they change and once at start."""


class DynamicConfig:
    """Static configuration, `/config/brokers/<default>` and `/config/brokers/<id>` in one.

    `initialize()` before the parts of the broker are built from `current`; `startup()` once those
    that listen have subscribed; `shutdown()` at the end.
    """

    def __init__(
        self, static_config: BrokerConfig, broker_id: int, zk: KafkaZkClient, time: Time
    ) -> None:
        self.current = static_config
        self.sources = ConfigSources({}, {}, static_config.originals)
        self.broker_id = broker_id
        self.persistent = PersistentConfigs(static_config)
        self._static = static_config
        self._is_started = False
        self._zk = zk
        self.on_files_touched: Callable[[], None] = lambda: None
        self._subscribers: list[Callable[[BrokerConfig], None]] = []
        self._handlers: dict[str, list[EntityHandler]] = {ConfigType.BROKER: [self._broker_changed]}
        self._listener = ZkNodeChangeNotificationListener(
            zk, ConfigChangeZNode.ROOT, ConfigChangeZNode.PREFIX, self._process_change, time
        )

    @property
    def is_updated(self) -> bool:
        """Whether something was ever changed dynamically."""
        return self.current is not self._static

    @property
    def replication_quotas(self) -> ReplicationQuotaKeys:
        """The limits that are only ever set dynamically, for this broker."""
        return ReplicationQuotaKeys(**ReplicationQuotaKeys.parse(self.sources.dynamic_broker))

    def max_log_dir_move_rate(self) -> int:
        """Bytes per second that may be copied between log directories."""
        return self.replication_quotas.replica_alter_log_dirs_io_max_bytes_per_second

    def subscribe(self, told: Callable[[BrokerConfig], None]) -> None:
        """Have somebody told of every new configuration."""
        self._subscribers.append(told)

    def add_handler(self, entity_type: str, handler: EntityHandler) -> None:
        """Have somebody told of the configs of all entities of a kind."""
        self._handlers.setdefault(entity_type, []).append(handler)

    async def initialize(self) -> None:
        """Lay what ZooKeeper has for this broker over the static configuration."""
        default = await self._zk.get_entity_configs(ConfigType.BROKER, DEFAULT_ENTITY)
        self._update(dynamic_default=self.persistent.decode(default, per_broker=False))
        name = str(self.broker_id)
        own = await self._zk.get_entity_configs(ConfigType.BROKER, name)
        renewed = self.persistent.encode_anew(own)
        if renewed is not None:
            await self._zk.set_or_create_entity_configs(ConfigType.BROKER, name, renewed)
        self._update(dynamic_broker=self.persistent.decode(renewed or own, per_broker=True))

    async def startup(self) -> None:
        """Begin to hear of changes, and tell the handlers what holds already."""
        self._is_started = True
        self._listener.init()
        for entity_type, handlers in self._handlers.items():
            names = await self._entity_names(entity_type)
            configs = [self._zk.get_entity_configs(entity_type, name) for name in names]
            for name, config in zip(names, await gather(configs), strict=True):
                for handler in handlers:
                    handler(name, config)

    async def _entity_names(self, entity_type: str) -> list[str]:
        """List the entities of a kind; users have client ids below them."""
        names = await self._zk.get_all_entities_with_config(entity_type)
        if entity_type != ConfigType.USER:
            return names
        below = [f"{name}/{ConfigType.CLIENT}" for name in names]
        found = await gather(
            [self._zk.get_all_entities_with_config(f"{entity_type}/{path}") for path in below]
        )
        pairs = zip(below, found, strict=True)
        return [*names, *(f"{path}/{client}" for path, clients in pairs for client in clients)]

    def shutdown(self) -> None:
        """Hear no more of changes."""
        self._listener.close()

    async def topic_config(self, topic: str) -> TopicConfig:
        """Read what holds for a topic: its overrides in ZooKeeper on top of the broker's values."""
        return self.merge(topic, await self._zk.get_entity_configs(ConfigType.TOPIC, topic))

    def merge(self, topic: str, overrides: Mapping[str, str]) -> TopicConfig:
        """Lay a topic's overrides over the broker's values; an invalid one is passed over.

        ZooKeeper may have anything: one bad value must not keep a partition from being served.
        """
        usable = {name: value for name, value in overrides.items() if _is_usable(name, value)}
        for name in overrides.keys() - usable.keys():
            log.error(
                "{key}={value} of topic {topic} is not valid and will be ignored",
                key=name,
                value=overrides[name],
                topic=topic,
            )
        return TopicConfig.merge(self.current, usable)

    def validate(self, properties: Mapping[str, str], *, per_broker: bool) -> None:
        """Raise a `ConfigError` if these cannot be all that is set, for this broker or for all."""
        validate_dynamic_configs(properties, per_broker=per_broker)
        if per_broker:
            new = self._config(self.sources._replace(dynamic_broker=properties))
        else:
            new = self._config(self.sources._replace(dynamic_default=properties))
        check_reconfiguration(self.current, new)

    async def _process_change(self, data: bytes) -> None:
        entity_type, _, name = ConfigChangeZNode.decode(data).partition("/")
        handlers = self._handlers.get(entity_type)
        if handlers is None:
            log.debug("nobody here cares about {type}/{name}", type=entity_type, name=name)
            return
        config = await self._zk.get_entity_configs(entity_type, name)
        for handler in handlers:
            handler(name, config)

    def _broker_changed(self, name: str, properties: Mapping[str, str]) -> None:
        if name == DEFAULT_ENTITY:
            self._update(dynamic_default=self.persistent.decode(properties, per_broker=False))
        elif name == str(self.broker_id):
            self._update(dynamic_broker=self.persistent.decode(properties, per_broker=True))

    def _update(self, **changed: Mapping[str, str]) -> None:
        """Take over what changed, if a valid configuration comes of it."""
        sources = self.sources._replace(**changed)
        try:
            new = self._config(sources)
            if self._is_started:  # before the parts are built, no change is too large for them
                check_reconfiguration(self.current, new)
        except ConfigError as error:
            log.error("dynamic configs could not be applied: {error}", error=error)
            return
        self.sources = sources
        if new.originals == self.current.originals:
            # Setting the location of a key store anew means that the file has changed (KIP-226).
            if self._is_started:
                self.on_files_touched()
            return
        names = _changed(self.current.originals, new.originals)
        log.info("configuration changed: {names}", names=", ".join(names))
        self.current = new
        for told in self._subscribers:
            told(new)

    def _config(self, sources: ConfigSources) -> BrokerConfig:
        properties = override(sources.static_broker, sources.dynamic_default)
        return BrokerConfig.from_properties(override(properties, sources.dynamic_broker))


def _is_usable(name: str, value: str) -> bool:
    key = TopicConfig.KEYS.get(name)
    try:
        if key is not None:
            key.parse(value)
    except ConfigError:
        return False
    return True


def _changed(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
