"""The composition root: builds the parts of a broker, starts them in order, stops them in reverse.

Only this module knows all parts; each gets what it needs as an argument.
"""

import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from random import Random
from typing import Any

from twisted.logger import Logger

from kafkalike.cluster.metadata_cache import MetadataCache, MetadataSnapshot
from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.ineffective_keys import ineffective_settings
from kafkalike.controller.kafka_controller import KafkaController
from kafkalike.log.log_manager import LogManager
from kafkalike.model.broker import Broker
from kafkalike.model.uuid import random_uuid, uuid_to_string
from kafkalike.network.socket_server import ConnectionLimits, SocketServer
from kafkalike.replication.fetch_session import FetchSessionCache
from kafkalike.replication.log_dir_mover import LogDirMover
from kafkalike.server.advertised import advertised_broker
from kafkalike.server.api.api_versions import answer as answer_api_versions
from kafkalike.server.api.dispatcher import Dispatcher
from kafkalike.server.api.registry import load_apis
from kafkalike.server.auto_topic_creation import AutoTopicCreation
from kafkalike.server.broker_loggers import BrokerLoggers
from kafkalike.server.broker_registration import BrokerRegistration
from kafkalike.server.broker_senders import BrokerSenders, LocalSender
from kafkalike.server.config_admin import ConfigAdmin
from kafkalike.server.controlled_shutdown import ControlledShutdown
from kafkalike.server.controller_channel import ControllerChannel
from kafkalike.server.coordinator_parts import build_coordinators
from kafkalike.server.dynamic_config import DynamicConfig
from kafkalike.server.finalized_features import FinalizedFeatureCache
from kafkalike.server.forwarding.forwarding import Forwarding
from kafkalike.server.housekeeping import start_housekeeping
from kafkalike.server.identity import Identity, settle_identity, write_identity
from kafkalike.server.limits_parts import LimitsParts
from kafkalike.server.log_dir_failure import LogDirFailureHandler
from kafkalike.server.replication_parts import ReplicationParts
from kafkalike.server.request_gate import RequestGate
from kafkalike.server.security_services import SecurityServices, inter_broker_channels
from kafkalike.server.services import BrokerServices
from kafkalike.server.topic_admin import TopicAdmin
from kafkalike.server.topic_config_handler import TopicConfigHandler
from kafkalike.server.zookeeper_session import ZookeeperSession, open_session
from kafkalike.utils.background import Background
from kafkalike.utils.blocking import run_blocking_on
from kafkalike.utils.lifecycle import Lifecycle
from kafkalike.utils.periodic import PeriodicTasks
from kafkalike.utils.time import Time
from kafkalike.zk.client import KafkaZkClient

log = Logger()

_NOT_REGISTERED = -1


class KafkaServer:
    """One broker: `startup` once, `shutdown` once, also after a start that failed half way."""

    _limits: LimitsParts  # since the configuration is known

    def __init__(
        self,
        reactor: Any,  # no one reactor interface has it all
        config: BrokerConfig,
        loggers: BrokerLoggers,
        on_fatal: Callable[[str], None],
    ) -> None:
        self._reactor = reactor
        self._config = config
        self._loggers = loggers
        self._on_fatal = on_fatal
        self._time = Time(reactor)
        self._run_blocking = run_blocking_on(reactor)
        self._random = Random(os.urandom(16))
        self._background = Background()
        self._lifecycle = Lifecycle()
        self._lifecycle.on_stop("background", self._background.stop)
        self._directories = [Path(path).absolute() for path in config.log_directories]
        self._metadata_cache = MetadataCache()
        self._broker_epoch = _NOT_REGISTERED
        self._handing_over: ControlledShutdown | None = None

    async def startup(self) -> None:
        """Come up: ZooKeeper, identity, logs, ports, registration, controller."""
        self._tell_what_has_no_effect()
        session = await self._connect_to_zookeeper()
        zk = KafkaZkClient(
            session.bridge,
            is_secure=self._config.zookeeper_set_acl,
            max_in_flight_requests=self._config.zookeeper_max_in_flight_requests,
        )
        await zk.create_top_level_paths()
        cluster_id = await zk.get_cluster_id()
        if cluster_id is None:
            cluster_id = await zk.create_or_get_cluster_id(uuid_to_string(random_uuid(os.urandom)))
        identity = await settle_identity(zk, self._config, self._directories, cluster_id)
        dynamic_config = DynamicConfig(self._config, identity.broker_id, zk, self._time)
        await dynamic_config.initialize()
        connect = inter_broker_channels(
            self._reactor, self._time, self._run_blocking, dynamic_config
        )
        senders = BrokerSenders(
            connect,
            identity.broker_id,
            lambda: dynamic_config.current,
            self._metadata_cache,
        )
        self._limits = LimitsParts(dynamic_config, zk, self._time)
        await self._limits.start(self._lifecycle)
        services = await self._build(zk, identity, dynamic_config, senders)
        await session.take_over()
        await self._serve(services, senders)
        log.info(
            "broker {id} of cluster {cluster} is started",
            id=identity.broker_id,
            cluster=identity.cluster_id,
        )

    async def shutdown(self) -> None:
        """Hand leaderships over, then stop everything, the last part first."""
        await self._lifecycle.stop()

    def hurry(self) -> None:
        """Stop without handing over what is still led here: the user does not want to wait."""
        if self._handing_over is not None:
            self._handing_over.hurry()

    def _tell_what_has_no_effect(self) -> None:
        names = ineffective_settings(self._config.originals)
        if names:
            log.warn("these settings have no effect: {names}", names=", ".join(names))
        if self._config.unused_keys:
            unknown = ", ".join(self._config.unused_keys)
            log.warn("these settings are not known: {names}", names=unknown)

    async def _connect_to_zookeeper(self) -> ZookeeperSession:
        session = open_session(self._reactor, self._config, self._directories[0])
        self._lifecycle.on_stop("ZooKeeper session", session.close)
        await session.connect(self._config.zookeeper_connection_time_ms)
        return session

    # --- building

    async def _build(
        self,
        zk: KafkaZkClient,
        identity: Identity,
        dynamic_config: DynamicConfig,
        senders: BrokerSenders,
    ) -> BrokerServices:
        replication = self._replication(identity, dynamic_config, senders)
        failures = LogDirFailureHandler(
            identity.broker_id, replication.replica_manager, zk, self._background, self._on_fatal
        )
        log_manager = await self._start_log_manager(zk, identity, dynamic_config, failures)
        coordinators = await build_coordinators(
            zk,
            dynamic_config,
            replication.replica_manager,
            self._metadata_cache,
            senders,
            self._time,
            self._run_blocking,
        )
        state_changes = replication.follow(
            log_manager, dynamic_config, self._lifecycle, coordinators.leadership_changed
        )
        coordinators.stop_with(self._lifecycle)
        failures.take_offline = state_changes.take_offline
        topic_admin = TopicAdmin(dynamic_config, self._metadata_cache, zk, self._time, self._random)
        self._lifecycle.on_stop("topic admin", topic_admin.shutdown)
        mover = self._log_dir_mover(dynamic_config, replication, log_manager)
        security = SecurityServices(zk, dynamic_config, self._time, self._run_blocking)
        await security.startup(self._lifecycle)
        slots = dynamic_config.current.max_incremental_fetch_session_cache_slots
        return BrokerServices(
            broker_id=identity.broker_id,
            cluster_id=identity.cluster_id,
            broker_epoch=lambda: self._broker_epoch,
            dynamic_config=dynamic_config,
            time=self._time,
            run_blocking=self._run_blocking,
            zk=zk,
            metadata_cache=self._metadata_cache,
            log_manager=log_manager,
            replica_manager=replication.replica_manager,
            replica_state_changes=state_changes,
            replication_quotas=replication.quotas,
            log_dir_mover=mover,
            fetch_sessions=FetchSessionCache(slots, self._random),
            forwarding=self._forwarding(identity, dynamic_config, replication, senders),
            group_coordinator=coordinators.group,
            transaction_coordinator=coordinators.transaction,
            topic_admin=topic_admin,
            auto_topic_creation=AutoTopicCreation(dynamic_config, topic_admin),
            finalized_features=FinalizedFeatureCache(zk),
            security=security,
            config_admin=ConfigAdmin(dynamic_config, self._metadata_cache, zk, self._loggers),
            authorizer=self._limits.authorizer,
        )

    def _replication(
        self, identity: Identity, dynamic_config: DynamicConfig, senders: BrokerSenders
    ) -> ReplicationParts:
        return ReplicationParts(
            identity.broker_id,
            self._metadata_cache,
            senders,
            lambda: self._broker_epoch,
            dynamic_config,
            self._time,
            self._run_blocking,
        )

    def _log_dir_mover(
        self,
        dynamic_config: DynamicConfig,
        replication: ReplicationParts,
        log_manager: LogManager,
    ) -> LogDirMover:
        mover = LogDirMover(
            replication.replica_manager,
            log_manager,
            self._run_blocking,
            self._time,
            dynamic_config.max_log_dir_move_rate,
        )
        self._lifecycle.on_stop("log directory moves", mover.shutdown)
        return mover

    def _forwarding(
        self,
        identity: Identity,
        dynamic_config: DynamicConfig,
        replication: ReplicationParts,
        senders: BrokerSenders,
    ) -> Forwarding:
        forwarding = Forwarding(
            identity.broker_id,
            lambda: dynamic_config.current,
            self._metadata_cache,
            replication.replica_manager,
            senders.open_channel,
            self._time,
        )
        self._lifecycle.on_stop("forwarding", forwarding.shutdown)
        return forwarding

    async def _start_log_manager(
        self,
        zk: KafkaZkClient,
        identity: Identity,
        dynamic_config: DynamicConfig,
        failures: LogDirFailureHandler,
    ) -> LogManager:
        config = dynamic_config.current
        log_manager = LogManager(
            config, self._time, self._run_blocking, on_log_dir_failure=failures.log_dir_failed
        )
        failures.log_manager = log_manager
        overrides = await zk.get_topic_configs(await zk.get_all_topics_in_cluster())
        topic_configs = {t: dynamic_config.merge(t, own) for t, own in overrides.items()}
        await log_manager.startup(topic_configs, identity.offline_dirs)
        dynamic_config.subscribe(log_manager.reconfigure)
        self._lifecycle.on_stop("log manager", log_manager.shutdown)
        await self._run_blocking(
            write_identity, identity, log_manager.live_log_dirs, self._time.now_ms()
        )
        return log_manager

    # --- serving

    async def _serve(self, services: BrokerServices, senders: BrokerSenders) -> None:
        apis = load_apis()
        listener = services.config.inter_broker_listener.listener_name
        senders.local = LocalSender(services, apis, listener)
        topics = await services.zk.get_all_topics_in_cluster()
        dispatcher = Dispatcher(services, apis, self._limits.checks)
        gate = RequestGate(dispatcher.handle, topics, self._time)

        def metadata_changed(snapshot: MetadataSnapshot) -> None:
            gate.metadata_changed(snapshot)
            services.forwarding.metadata_changed(snapshot)

        self._metadata_cache.on_update = metadata_changed
        self._lifecycle.on_stop("request gate", gate.close)
        broker = self._listen(services, gate)
        register = self._registration(services, broker)
        await register()
        controller = KafkaController(
            broker_id=broker.id,
            zk=services.zk,
            config=lambda: services.config,
            time=self._time,
            connect=senders.to_broker,
            register_broker=register,
            new_topic_id=lambda: random_uuid(os.urandom),
        )
        services.controller = controller
        TopicConfigHandler(
            services.dynamic_config, services.log_manager, controller, services.replication_quotas
        )
        await services.dynamic_config.startup()
        await services.finalized_features.startup()
        self._lifecycle.on_stop("features", services.finalized_features.shutdown)
        self._lifecycle.on_stop("dynamic configuration", services.dynamic_config.shutdown)
        tasks = PeriodicTasks(self._time, self._background)
        self._lifecycle.on_stop("periodic tasks", tasks.stop)
        start_housekeeping(services, tasks)
        services.transaction_coordinator.startup()
        controller.startup()
        self._lifecycle.on_stop("controller", controller.shutdown)
        self._lifecycle.on_stop("controlled shutdown", self._controlled_shutdown(services, senders))

    def _controlled_shutdown(
        self, services: BrokerServices, senders: BrokerSenders
    ) -> Callable[[], Coroutine[Any, Any, None]]:
        async def hand_over() -> None:
            config = services.config
            if config.controlled_shutdown_enable and len(self._metadata_cache.snapshot.brokers) > 1:
                channel = ControllerChannel(senders.controller, senders.to_broker)
                shutdown = ControlledShutdown(
                    channel,
                    self._time,
                    max_retries=config.controlled_shutdown_max_retries,
                    backoff_ms=config.controlled_shutdown_retry_backoff_ms,
                )
                self._handing_over = shutdown
                services.replica_state_changes.follow_no_more()
                await shutdown.run(services.broker_id, self._broker_epoch)
                self._handing_over = None
                channel.close()
                # Clients are sent away from here: the others should know where to.
                await services.controller.settle()

        return hand_over

    def _listen(self, services: BrokerServices, gate: RequestGate) -> Broker:
        config = services.config
        socket_server = SocketServer(
            self._reactor,
            self._time,
            _connection_limits(config),
            gate.handle,
            self._limits.rates,
        )
        services.dynamic_config.subscribe(
            lambda changed: socket_server.update_limits(_connection_limits(changed))
        )
        self._lifecycle.on_stop("socket server", socket_server.stop)
        features = services.finalized_features
        listeners = services.security.listeners(
            lambda version, request: answer_api_versions(version, request, features)
        )
        bound = {
            end_point.listener_name: socket_server.listen(end_point, listeners.make(end_point))
            for end_point in config.listener_end_points
        }
        return advertised_broker(services.broker_id, config, bound)

    def _registration(
        self, services: BrokerServices, broker: Broker
    ) -> Callable[[], Coroutine[Any, Any, None]]:
        registration = BrokerRegistration(
            services.zk, self._time, broker, self._config.zookeeper_session_timeout_ms
        )

        async def register() -> None:
            self._broker_epoch = await registration.register()

        return register


def _connection_limits(config: BrokerConfig) -> ConnectionLimits:
    return ConnectionLimits(
        max_request_bytes=config.socket_request_max_bytes,
        max_idle_ms=config.connections_max_idle_ms,
        max_connections=config.max_connections,
        max_per_ip=config.max_connections_per_ip,
        max_per_ip_overrides=config.max_connections_per_address,
        max_queued_bytes=config.queued_max_request_bytes,
    )
