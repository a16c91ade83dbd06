"""A broker's configs as they stand in ZooKeeper, where secrets are encrypted, and as they are used.

Kafka's `toPersistentProps`, `fromPersistentProps` and `maybeReEncodePasswords`.
"""

from collections.abc import Mapping

from twisted.logger import Logger

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.errors import ConfigError
from kafkalike.security.password_encoder import PasswordEncoder
from kafkalike.server.dynamic_broker_config import is_password, usable_configs

log = Logger()


class PersistentConfigs:
    """Encodes with `password.encoder.secret`, if there is one."""

    def __init__(self, static_config: BrokerConfig) -> None:
        self._encoder = PasswordEncoder.of(static_config, static_config.password_encoder_secret)
        self._old_encoder = PasswordEncoder.of(
            static_config, static_config.password_encoder_old_secret
        )

    def encode(self, properties: Mapping[str, str], *, per_broker: bool) -> dict[str, str]:
        """Give what may be written; raise a `ConfigError` if a secret cannot be."""
        return {
            name: self._encode(value, per_broker=per_broker) if is_password(name) else value
            for name, value in properties.items()
        }

    def _encode(self, password: str, *, per_broker: bool) -> str:
        if not per_broker:
            raise ConfigError("Password config can be defined only at broker level")
        if self._encoder is None:
            raise ConfigError("Password encoder secret not configured")
        return self._encoder.encode(password)

    def decode(self, found: Mapping[str, str], *, per_broker: bool) -> dict[str, str]:
        """Give what of a znode's configs can be used; the rest is logged and left out."""
        usable, complaints = usable_configs(found, per_broker=per_broker)
        for complaint in complaints:
            log.error("{complaint}", complaint=complaint)
        for name in filter(is_password, list(usable)):
            try:
                if self._encoder is None:
                    raise ConfigError("Password encoder secret not configured")
                usable[name] = self._encoder.decode(usable[name])
            except ConfigError as error:
                log.error(
                    "Dynamic password config {name} could not be decoded, ignoring: {error}",
                    name=name,
                    error=error,
                )
                del usable[name]
        return usable

    def encode_anew(self, found: Mapping[str, str]) -> dict[str, str] | None:
        """Give a znode's configs with secrets encoded by the new secret; None if none was old."""
        if self._encoder is None or self._old_encoder is None:
            return None
        renewed = dict(found)
        for name in filter(is_password, found):
            try:
                renewed[name] = self._encoder.encode(self._old_encoder.decode(found[name]))
            except ConfigError:
                log.debug("{name} is not encoded by the old secret", name=name)
        return renewed if renewed != found else None
