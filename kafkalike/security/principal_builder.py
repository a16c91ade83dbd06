"""Who an authenticated connection speaks for (Kafka's DefaultKafkaPrincipalBuilder).

`principal.builder.class` names a Python class of the site's own, as `package.module.ClassName`: an
object of it has `build(context)` and gives a `KafkaPrincipal`; `configure(properties)` is called
first if there is one. Kafka's own class name stands for the default.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, Protocol

from kafkalike.config.errors import ConfigError
from kafkalike.security.principal import ANONYMOUS, USER_TYPE, KafkaPrincipal
from kafkalike.security.ssl_principal_mapper import SslPrincipalMapper

_DEFAULT_CLASSES: Final = frozenset(
    {
        None,
        "",
        "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationContext:
    """What is known of a connection when its principal is asked for."""

    security_protocol: str
    listener_name: str
    client_host: str
    peer_certificate_name: str | None = None
    sasl_mechanism: str | None = None
    authorization_id: str | None = None
    is_token_authenticated: bool = False


class PrincipalBuilder(Protocol):
    """Makes principals."""

    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        """Give the principal of a connection, or raise if it may have none."""


class DefaultPrincipalBuilder:
    """The SASL name; else the certificate's name by the mapping rules; else ANONYMOUS."""

    def __init__(self, mapper: SslPrincipalMapper) -> None:
        self._mapper = mapper

    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        """Give the principal of a connection."""
        if context.authorization_id is not None:
            return KafkaPrincipal(
                USER_TYPE, context.authorization_id, context.is_token_authenticated
            )
        if context.peer_certificate_name is not None:
            return KafkaPrincipal(USER_TYPE, self._mapper.name_of(context.peer_certificate_name))
        return ANONYMOUS


def principal_builder(
    class_name: str | None, mapping_rules: str, properties: Mapping[str, str]
) -> PrincipalBuilder:
    """Build what a listener's configuration names."""
    if class_name in _DEFAULT_CLASSES:
        return DefaultPrincipalBuilder(SslPrincipalMapper(mapping_rules))
    builder: PrincipalBuilder = instance_of(class_name or "", "principal.builder.class")
    configure = getattr(builder, "configure", None)
    if configure is not None:
        configure(properties)
    return builder


def instance_of(class_name: str, key: str) -> Any:  # Any: the class is the site's own
    """Make an object of a Python class that a configuration names."""
    module, _, name = class_name.rpartition(".")
    try:
        return getattr(import_module(module), name)()
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"Invalid value {class_name} for configuration {key}: Class {class_name} could not be "
            "found. It must be a Python class, written package.module.ClassName."
        ) from error
