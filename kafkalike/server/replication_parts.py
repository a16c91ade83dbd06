"""Wires what replicates: replica manager, fetchers, ISR changes. Part of the composition root."""

from collections.abc import Callable
from functools import cache
from typing import cast

from kafkalike.cluster.metadata_cache import MetadataCache
from kafkalike.cluster.replica_selector import SELECTORS, Selector
from kafkalike.config.api_version import ApiVersion, api_version
from kafkalike.config.broker_config import BrokerConfig
from kafkalike.log.log import Log
from kafkalike.log.log_manager import LogManager
from kafkalike.model.leader_and_isr import LeaderAndIsr
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.messages.alter_isr import AlterIsrRequest, AlterIsrResponse
from kafkalike.quota.replication_quota import ReplicationQuota, ReplicationQuotas
from kafkalike.replication.fetcher_manager import FetcherManager
from kafkalike.replication.follower_logs import LocalFollowerLogs
from kafkalike.replication.high_watermark_checkpoints import HighWatermarkCheckpoints
from kafkalike.replication.isr_manager import IsrManager
from kafkalike.replication.replica_fetcher import FetcherSettings, ReplicaFetcher
from kafkalike.replication.replica_manager import ReplicaManager
from kafkalike.replication.replica_state_changes import LeadershipChange, ReplicaStateChanges
from kafkalike.server.broker_senders import BrokerSenders
from kafkalike.server.controller_channel import ControllerChannel
from kafkalike.server.dynamic_config import DynamicConfig
from kafkalike.server.errors import StartupError
from kafkalike.utils.blocking import RunBlocking
from kafkalike.utils.lifecycle import Lifecycle
from kafkalike.utils.time import Time

_ALTER_ISR_VERSION = 0
# Oldest inter.broker.protocol.version of each version of Fetch and ListOffsets, newest first.
_FETCH_VERSIONS = (
    ("2.7-IV1", 12),
    ("2.3-IV1", 11),
    ("2.1-IV2", 10),
    ("2.0-IV1", 8),
    ("1.1-IV0", 7),
)
_LIST_OFFSETS_VERSIONS = (("2.8-IV0", 6), ("2.2-IV1", 5), ("2.1-IV1", 4), ("2.0-IV1", 3))


class ReplicationParts:
    """Builds in two steps, for logs are loaded in between: leaders' side, then followers'."""

    def __init__(
        self,
        broker_id: int,
        metadata_cache: MetadataCache,
        senders: BrokerSenders,
        broker_epoch: Callable[[], int],
        dynamic_config: DynamicConfig,
        time: Time,
        run_blocking: RunBlocking,
    ) -> None:
        self._senders = senders
        self._time = time
        self._run_blocking = run_blocking
        self._log_manager: LogManager | None = None
        config = dynamic_config.current
        self.quotas = _quotas(broker_id, dynamic_config)
        channel = ControllerChannel(senders.controller, senders.to_broker)

        async def send(request: AlterIsrRequest) -> AlterIsrResponse:
            return cast(AlterIsrResponse, await channel.send(request, _ALTER_ISR_VERSION))

        def altered(tp: TopicPartition, answer: LeaderAndIsr) -> None:
            self.replica_manager.isr_altered(tp, answer)

        self._isr_manager = IsrManager(broker_id, broker_epoch, send, altered, time)
        self.replica_manager = ReplicaManager(
            broker_id,
            time,
            metadata_cache,
            self._flush,
            self._isr_manager.submit,
            _selector(config),
            self.quotas.leader,
            flushes_last_replica=config.last_replica_flush_enable,
        )

    async def _flush(self, log: Log) -> None:
        assert self._log_manager is not None, "nothing is appended before logs are loaded"
        await self._log_manager.flush(log)

    def follow(
        self,
        log_manager: LogManager,
        dynamic_config: DynamicConfig,
        lifecycle: Lifecycle,
        on_leadership_change: LeadershipChange,
    ) -> ReplicaStateChanges:
        """Build the follower side, and what the controller's decisions act upon."""
        self._log_manager = log_manager
        logs = LocalFollowerLogs(self.replica_manager, log_manager)

        def make_fetcher(leader_id: int) -> ReplicaFetcher:
            return ReplicaFetcher(
                leader_id,
                lambda: self._senders.to_leader(leader_id),
                logs,
                lambda: _settings(self.replica_manager.broker_id, dynamic_config.current),
                self.quotas.follower,
                self._time,
            )

        fetchers = FetcherManager(make_fetcher, lambda: dynamic_config.current.num_replica_fetchers)
        changes = ReplicaStateChanges(
            self.replica_manager,
            log_manager,
            HighWatermarkCheckpoints(log_manager.live_log_dirs, self._run_blocking),
            dynamic_config.topic_config,
            fetchers,
            self._isr_manager,
            self._time,
            dynamic_config.current.replica_lag_time_max_ms,
            on_leadership_change,
        )
        lifecycle.on_stop("high watermarks", changes.checkpoint_high_watermarks)
        lifecycle.on_stop("replica manager", self.replica_manager.shutdown)
        lifecycle.on_stop("replica fetchers", fetchers.shutdown)
        lifecycle.on_stop("ISR changes", self._isr_manager.shutdown)
        return changes


def _selector(config: BrokerConfig) -> Selector | None:
    name = config.replica_selector_class
    if name is None:
        return None
    if name not in SELECTORS:
        raise StartupError(
            f"replica.selector.class {name} is not known; there are {', '.join(SELECTORS)}"
        )
    return SELECTORS[name]


def _quotas(broker_id: int, dynamic_config: DynamicConfig) -> ReplicationQuotas:
    config = dynamic_config.current
    samples = config.replication_quota_window_num
    window_s = config.replication_quota_window_size_seconds

    def leader_rate() -> float:
        return dynamic_config.replication_quotas.leader_replication_throttled_rate

    def follower_rate() -> float:
        return dynamic_config.replication_quotas.follower_replication_throttled_rate

    return ReplicationQuotas(
        broker_id,
        ReplicationQuota(samples, window_s, leader_rate),
        ReplicationQuota(samples, window_s, follower_rate),
    )


def _settings(broker_id: int, config: BrokerConfig) -> FetcherSettings:
    return FetcherSettings(
        replica_id=broker_id,
        fetch_version=_version(config.inter_broker_api_version, _FETCH_VERSIONS),
        list_offsets_version=_version(config.inter_broker_api_version, _LIST_OFFSETS_VERSIONS),
        wait_max_ms=config.replica_fetch_wait_max_ms,
        min_bytes=config.replica_fetch_min_bytes,
        max_bytes=config.replica_fetch_max_bytes,
        response_max_bytes=config.replica_fetch_response_max_bytes,
        backoff_ms=config.replica_fetch_backoff_ms,
    )


@cache  # asked for every fetch
def _version(protocol: ApiVersion, versions: tuple[tuple[str, int], ...]) -> int:
    for since, version in versions:
        if protocol >= api_version(since):
            return version
    return versions[-1][1]
