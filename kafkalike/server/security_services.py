"""Who clients are: the parts of a broker that know it, built and started together."""

from collections.abc import Callable
from typing import Any

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.network.authenticator import ApiVersionsAnswer
from kafkalike.security.credentials import CredentialProvider
from kafkalike.server.delegation_token_manager import DelegationTokenManager
from kafkalike.server.dynamic_config import DynamicConfig
from kafkalike.server.inter_broker_security import InterBrokerChannels
from kafkalike.server.listeners import Listeners
from kafkalike.server.scram_admin import ScramAdmin
from kafkalike.utils.blocking import RunBlocking
from kafkalike.utils.gather import gather
from kafkalike.utils.lifecycle import Lifecycle
from kafkalike.utils.time import Time
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.znodes import ConfigType, desanitize


class SecurityServices:
    """Credentials, tokens, listeners; `startup` before the first listener opens."""

    def __init__(
        self,
        zk: KafkaZkClient,
        dynamic_config: DynamicConfig,
        time: Time,
        run_blocking: RunBlocking,
    ) -> None:
        self._zk = zk
        self._dynamic_config = dynamic_config
        self._time = time
        self.credentials = CredentialProvider()
        self.scram_admin = ScramAdmin(zk)
        self.token_manager = DelegationTokenManager(
            self._config, self.credentials.tokens, zk, time, run_blocking
        )

    def _config(self) -> BrokerConfig:
        return self._dynamic_config.current

    async def startup(self, lifecycle: Lifecycle) -> None:
        """Learn all credentials: the other brokers may use them as soon as a listener is open."""
        names = await self._zk.get_all_entities_with_config(ConfigType.USER)
        configs = [self._zk.get_entity_configs(ConfigType.USER, name) for name in names]
        for name, config in zip(names, await gather(configs), strict=True):
            self._user_changed(name, config)
        self._dynamic_config.add_handler(ConfigType.USER, self._user_changed)
        await self.token_manager.startup()
        lifecycle.on_stop("delegation tokens", self.token_manager.shutdown)

    def listeners(self, answer_api_versions: ApiVersionsAnswer) -> Listeners:
        """Make what makes the listeners, and follows the configuration."""
        listeners = Listeners(self._config, self.credentials, answer_api_versions, self._time)
        self._dynamic_config.subscribe(listeners.reconfigure)
        self._dynamic_config.on_files_touched = listeners.reconfigure
        return listeners

    def _user_changed(self, sanitized_name: str, config: Any) -> None:
        if "/" not in sanitized_name:  # users/bob/clients/x has quotas, no credentials
            self.credentials.update_user(desanitize(sanitized_name), config)


def inter_broker_channels(
    reactor: Any,  # no one reactor interface has it all
    time: Time,
    run_blocking: RunBlocking,
    dynamic_config: DynamicConfig,
) -> Callable[..., Any]:
    """Make the broker's way to the others, which follows the configuration."""
    channels = InterBrokerChannels(reactor, time, run_blocking, lambda: dynamic_config.current)
    dynamic_config.subscribe(channels.reconfigure)
    return channels.connect
