"""Keeps quotas what ZooKeeper says: of users, client ids and addresses.

Kafka's `UserConfigHandler`, `ClientIdConfigHandler` and `IpConfigHandler`.
"""

from collections.abc import Mapping

from twisted.logger import Logger

from kafkalike.quota.client_quotas import DEFAULT, QuotaEntity
from kafkalike.quota.connection_rates import ConnectionRates
from kafkalike.quota.quota_type import CONNECTION_RATE, QuotaType
from kafkalike.server.dynamic_config import DynamicConfig
from kafkalike.server.throttle import Throttle
from kafkalike.zk.znodes.configs import ConfigType

log = Logger()


class QuotaConfigHandler:
    """Listens to a `DynamicConfig`, and from then on acts by itself."""

    def __init__(
        self, dynamic_config: DynamicConfig, throttle: Throttle, rates: ConnectionRates
    ) -> None:
        self._throttle = throttle
        self._rates = rates
        dynamic_config.add_handler(ConfigType.CLIENT, self.client_changed)
        dynamic_config.add_handler(ConfigType.USER, self.user_changed)
        dynamic_config.add_handler(ConfigType.IP, self.ip_changed)

    def client_changed(self, client_id: str, configs: Mapping[str, str]) -> None:
        """Take over the quotas of a client id."""
        self._throttle.update(QuotaEntity(None, client_id), _quotas(client_id, configs))

    def user_changed(self, path: str, configs: Mapping[str, str]) -> None:
        """Take over the quotas of a user, or of a client id of a user: `bob/clients/app`."""
        user, _, rest = path.partition("/")
        client_id = rest.removeprefix(f"{ConfigType.CLIENT}/") if rest else None
        self._throttle.update(QuotaEntity(user, client_id), _quotas(path, configs))

    def ip_changed(self, ip: str, configs: Mapping[str, str]) -> None:
        """Take over how often an address may connect."""
        rate = _number(ip, CONNECTION_RATE, configs)
        self._rates.update_ip(None if ip == DEFAULT else ip, rate)


def _quotas(name: str, configs: Mapping[str, str]) -> dict[QuotaType, float]:
    found = {kind: _number(name, kind, configs) for kind in QuotaType}
    return {kind: value for kind, value in found.items() if value is not None}


def _number(name: str, key: str, configs: Mapping[str, str]) -> float | None:
    text = configs.get(key)
    try:
        return None if text is None else float(text)
    except ValueError:
        log.error("{key}={text} of {name} is no number, ignoring it", key=key, text=text, name=name)
        return None
