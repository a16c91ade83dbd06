"""An `AdminBroker` whose clients have names: ACLs, credentials and tokens over a FakeZooKeeper.

broker = SecureBroker({"delegation.token.secret.key": "s"})
broker.principal = KafkaPrincipal("User", "bob")    # who asks from now on
"""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

from kafkalike.security.acl_authorizer import AclAuthorizer
from kafkalike.security.authorizer import Authorizer
from kafkalike.security.principal import KafkaPrincipal
from kafkalike.server.api.context import RequestContext
from kafkalike.server.security_services import SecurityServices
from kafkalike.server.services import BrokerServices
from kafkalike.utils.lifecycle import Lifecycle
from tests.support.admin_broker import AdminBroker
from tests.support.log_builder import run_at_once
from tests.support.run import run

ALICE = KafkaPrincipal("User", "alice")
BOB = KafkaPrincipal("User", "bob")
LISTENER = "SASL_PLAINTEXT"


class SecureBroker(AdminBroker):
    """Broker 1 with one listener that has SASL; nothing is authorised on the way to handlers."""

    def __init__(
        self, properties: Mapping[str, str] | None = None, *, has_authorizer: bool = True
    ) -> None:
        secure = {
            "listeners": f"{LISTENER}://:9092",
            "inter.broker.listener.name": LISTENER,
            **(properties or {}),
        }
        super().__init__(secure)
        self.principal = ALICE
        self.listener_name = LISTENER
        self.authorizer: Authorizer | None = None
        if has_authorizer:
            self.authorizer = AclAuthorizer(self.config.originals, self.zk, self.time)
            run(self.authorizer.start())
        self.security = SecurityServices(self.zk, self.dynamic_config, self.time, run_at_once)
        run(self.security.startup(Lifecycle()))

    def context(self, version: int) -> RequestContext:
        """Give what a handler knows of a request: also by which connection it came."""
        connection = cast(Any, SimpleNamespace(principal=self.principal))
        return RequestContext(
            cast(BrokerServices, self),
            version,
            "a-client",
            self.listener_name,
            "127.0.0.1",
            connection,
        )
