"""How this side proves to ZooKeeper who it is, and which servers it believes.

SASL (DIGEST-MD5, by a name and a password) and TLS, alone or together. The session's znodes can
then be made so that nobody else may change them (`zookeeper.set.acl`).
"""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final

from kafkalike.zk.errors import ZkError

_SASL_PACKAGE: Final = "puresasl"


@dataclass(frozen=True, slots=True, repr=False)
class ZkLogin:
    """Name and password of a SASL login."""

    username: str
    password: str


@dataclass(frozen=True, slots=True, repr=False)
class ZkTls:
    """Paths of PEM files that exist for as long as connections are made."""

    trust_store: str | None = None
    key_store: str | None = None
    key_password: str | None = None
    checks_host_name: bool = True


@dataclass(frozen=True, slots=True)
class ZkClientSecurity:
    """What a client of a secured ensemble has."""

    login: ZkLogin | None = None
    tls: ZkTls | None = None

    def kazoo_options(self) -> dict[str, Any]:
        """Give kazoo's arguments, or raise a `ZkError` where a package is missing."""
        options: dict[str, Any] = {}
        if self.login is not None:
            if find_spec(_SASL_PACKAGE) is None:
                raise ZkError("SASL to ZooKeeper needs more: pip install 'kafkalike[tls]'")
            options["sasl_options"] = {
                "mechanism": "DIGEST-MD5",
                "username": self.login.username,
                "password": self.login.password,
            }
        if self.tls is not None:
            options |= {
                "use_ssl": True,
                "ca": self.tls.trust_store,
                "certfile": self.tls.key_store,
                "keyfile": self.tls.key_store,
                "keyfile_password": self.tls.key_password,
                "check_hostname": self.tls.checks_host_name,
            }
        return options


NO_SECURITY: Final = ZkClientSecurity()
