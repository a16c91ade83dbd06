"""This broker's connection to ZooKeeper: patient at the start, with its former session ended."""

import os
from pathlib import Path
from typing import Any

from twisted.logger import Logger

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.errors import ConfigError
from kafkalike.security.zookeeper import check_set_acl, zookeeper_security
from kafkalike.server.errors import StartupError
from kafkalike.zk.bridge import ZkBridge
from kafkalike.zk.client_security import NO_SECURITY, ZkClientSecurity
from kafkalike.zk.errors import ZkError, ZkTimeoutError
from kafkalike.zk.ops import OPEN_ACL_UNSAFE, Acl
from kafkalike.zk.paths import ConnectString
from kafkalike.zk.session import SessionCredentials, StateChangeHandler
from kafkalike.zk.session_file import KeptSession, forget_session, read_session, write_session
from kafkalike.zk.znodes import default_acls

log = Logger()

_END_SESSION_TIMEOUT_MS = 3000


class ZookeeperSession:
    """Owns the bridge; keeps the credentials of whichever session it has in the session file."""

    def __init__(
        self,
        reactor: Any,
        connect_string: str,
        *,
        session_timeout_ms: int,
        directory: Path,
        security: ZkClientSecurity = NO_SECURITY,
        chroot_acl: tuple[Acl, ...] = OPEN_ACL_UNSAFE,
    ) -> None:
        self._reactor = reactor
        self._connect_string = connect_string
        self._session_timeout_ms = session_timeout_ms
        self._directory = directory
        self._security = security
        self.bridge = ZkBridge(
            reactor,
            connect_string,
            session_timeout_ms=session_timeout_ms,
            security=security,
            chroot_acl=chroot_acl,
        )

    async def connect(self, timeout_ms: int) -> None:
        """Wait for ZooKeeper for as long as it takes, and say so every `timeout_ms`."""
        while True:
            try:
                await self.bridge.connect(timeout_ms)
            except ZkTimeoutError as error:
                log.warn(
                    "{error}; still trying. Is it running? (zookeeper.connect={connect})",
                    error=error,
                    connect=self._connect_string,
                )
            else:
                return

    async def take_over(self) -> None:
        """End the session of a former run, and from now on keep our own for the next one.

        Only for the one who holds the lock of the log directory: the "former" session would else
        be that of a broker which runs there now.
        """
        former = read_session(self._directory)
        self._keep()
        self.bridge.register_state_change_handler(
            StateChangeHandler(name="session-file", after_initializing_session=self._keep)
        )
        if former is not None:
            await self._end(SessionCredentials(former.session_id, former.password))

    async def close(self) -> None:
        """End the session, and with it the registration."""
        await self.bridge.close()
        forget_session(self._directory)

    def _keep(self) -> None:
        credentials = self.bridge.credentials
        if credentials is None:
            return
        session = KeptSession(
            *credentials,
            self._connect_string,
            self._session_timeout_ms,
            os.getpid(),
            is_secured=self._security.tls is not None,
        )
        try:
            write_session(self._directory, session)
        except OSError as error:  # a disk that fails here will be noticed elsewhere
            log.warn(
                "cannot keep the ZooKeeper session in {dir}: {error}",
                dir=self._directory,
                error=error,
            )

    async def _end(self, former: SessionCredentials) -> None:
        """End the session of a run that had no time to: its registration vanishes at once."""
        bridge = ZkBridge(
            self._reactor, self._connect_string, resume=former, security=self._security
        )
        try:
            await bridge.connect(_END_SESSION_TIMEOUT_MS)
            if bridge.session_id == former.session_id:
                log.info("ended session 0x{id:x} of a former run", id=former.session_id)
        except ZkError as error:
            log.warn("the session of a former run could not be ended: {error}", error=error)
        finally:
            await bridge.close()


def open_session(reactor: Any, config: BrokerConfig, directory: Path) -> ZookeeperSession:
    """Make the session that a broker's configuration describes, or raise a `StartupError`."""
    if config.zookeeper_connect is None:
        raise StartupError("zookeeper.connect is not set: this broker needs a ZooKeeper")
    try:
        security = zookeeper_security(config, os.environ)
        check_set_acl(config.zookeeper_set_acl, security)
    except ConfigError as error:
        raise StartupError(str(error)) from error
    _, chroot = ConnectString.parse(config.zookeeper_connect)
    return ZookeeperSession(
        reactor,
        config.zookeeper_connect,
        session_timeout_ms=config.zookeeper_session_timeout_ms,
        directory=directory,
        security=security,
        chroot_acl=default_acls(config.zookeeper_set_acl, chroot),
    )
