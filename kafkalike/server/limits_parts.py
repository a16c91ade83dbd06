"""Builds what limits clients: authorizer, quotas, connection rates. Part of `kafka_server`."""

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.quota.client_quotas import ClientQuotaCallback
from kafkalike.quota.connection_rates import ConnectionRates
from kafkalike.security.acl_authorizer import AclAuthorizer
from kafkalike.security.authorizer import OUR_NAMES, Authorizer
from kafkalike.server.dynamic_config import DynamicConfig
from kafkalike.server.plugins import configured
from kafkalike.server.quota_config_handler import QuotaConfigHandler
from kafkalike.server.record_interceptor import record_interceptor
from kafkalike.server.request_checks import RequestChecks
from kafkalike.server.throttle import Throttle
from kafkalike.utils.lifecycle import Lifecycle
from kafkalike.utils.time import Time
from kafkalike.zk.client import KafkaZkClient

_NO_RATE = (1 << 31) - 1


class LimitsParts:
    """Who may do what, and how much; built before the broker opens its ports."""

    def __init__(self, dynamic_config: DynamicConfig, zk: KafkaZkClient, time: Time) -> None:
        config = dynamic_config.current
        self.authorizer = build_authorizer(config, zk, time)
        self.rates = ConnectionRates(config.quota_window_num, config.quota_window_size_seconds)
        self._update_rates(config)
        dynamic_config.subscribe(self._update_rates)
        throttle = Throttle(config, time, _quota_callback(config))
        QuotaConfigHandler(dynamic_config, throttle, self.rates)
        self.checks = RequestChecks(self.authorizer, throttle, time, record_interceptor(config))

    async def start(self, lifecycle: Lifecycle) -> None:
        """Have the authorizer know what it needs before anybody is served."""
        if self.authorizer is not None:
            lifecycle.on_stop("authorizer", self.authorizer.close)
            await self.authorizer.start()

    def _update_rates(self, config: BrokerConfig) -> None:
        broker = config.max_connection_creation_rate
        listeners = {}
        for end_point in config.listener_end_points:
            name = end_point.listener_name
            rate = config.for_listener(name).max_connection_creation_rate
            if rate not in (broker, _NO_RATE):
                listeners[name] = float(rate)
        self.rates.update_limits(None if broker == _NO_RATE else float(broker), listeners)


def build_authorizer(config: BrokerConfig, zk: KafkaZkClient, time: Time) -> Authorizer | None:
    """Build the authorizer of `authorizer.class.name`, if there is one."""
    if config.authorizer_class_name in OUR_NAMES:
        return AclAuthorizer(config.originals, zk, time)
    methods = ("authorize", "authorize_by_resource_type", "acls", "create_acls", "delete_acls")
    authorizer: Authorizer | None = configured(
        config, "authorizer.class.name", *methods, "start", "close"
    )
    return authorizer


def _quota_callback(config: BrokerConfig) -> ClientQuotaCallback | None:
    callback: ClientQuotaCallback | None = configured(
        config,
        "client.quota.callback.class",
        "quota_metric_tags",
        "quota_limit",
        "update_quota",
        "remove_quota",
    )
    return callback
