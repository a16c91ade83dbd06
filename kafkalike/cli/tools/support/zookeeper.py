"""`--zookeeper`: work that a tool does on the znodes themselves, as Kafka 2.8 still allows."""

import contextlib
import os
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kafkalike.cli.tools.support.errors import JavaError, ToolFailure

if TYPE_CHECKING:
    from kafkalike.zk.bridge import ZkBridge
    from kafkalike.zk.client.kafka_zk_client import KafkaZkClient
    from kafkalike.zk.client_security import ZkClientSecurity

    RunWork = Callable[[Callable[[ZkBridge], Coroutine[Any, Any, Any]]], Any]

T = TypeVar("T")

_TIMEOUT_MS: Final = 30_000


def with_zookeeper(
    connect: str,
    work: "Callable[[KafkaZkClient], Coroutine[Any, Any, T]]",
    tls_config_file: str | None = None,
) -> T:
    """Run a coroutine with Kafka's view of ZooKeeper, and return its result.

    As Kafka's tools, one that logs in leaves znodes behind that only brokers and tools may change.
    """
    from kafkalike.security.zookeeper import login_from
    from kafkalike.zk.client.kafka_zk_client import KafkaZkClient

    is_secure = login_from(os.environ) is not None
    return with_bridge(
        connect,
        lambda bridge: work(KafkaZkClient(bridge, is_secure=is_secure)),
        tls_config_file,
    )


def with_bridge(
    connect: str,
    work: "Callable[[ZkBridge], Coroutine[Any, Any, T]]",
    tls_config_file: str | None = None,
) -> T:
    """Run a coroutine with a ZooKeeper session that lives as long, and return its result."""
    with zookeeper_session(connect, tls_config_file) as run:
        return run(work)  # type: ignore[no-any-return]  # what the coroutine returned


@contextlib.contextmanager
def zookeeper_session(connect: str, tls_config_file: str | None = None) -> "Iterator[RunWork]":
    """Open a session; yields what runs coroutines with it."""
    from kafkalike.client.threads import reactor_thread
    from kafkalike.config.errors import ConfigError
    from kafkalike.zk.bridge import ZkBridge
    from kafkalike.zk.errors import ZkError, ZkTimeoutError

    try:
        security = _security(tls_config_file)
    except ConfigError as error:
        raise ToolFailure(str(error)) from error

    thread = reactor_thread()

    async def make() -> ZkBridge:
        return ZkBridge(thread.reactor, connect, session_timeout_ms=_TIMEOUT_MS, security=security)

    bridge = thread.run(lambda _: make())
    try:
        thread.run(lambda _: bridge.connect(_TIMEOUT_MS))
        yield lambda work: thread.run(lambda _: work(bridge))
    except ZkTimeoutError as error:
        raise ToolFailure(
            f"Timed out waiting for connection to ZooKeeper at {connect}: {error}"
        ) from error
    except ZkError as error:
        raise JavaError("org.apache.zookeeper.KeeperException", str(error)) from error
    finally:
        thread.run(lambda _: bridge.close())


def _security(tls_config_file: str | None) -> "ZkClientSecurity":
    """Read how to log in: the JAAS file of the environment, and the file with `zookeeper.ssl.*`."""
    from pathlib import Path

    from kafkalike.config.broker.zookeeper import ZookeeperKeys
    from kafkalike.config.sources import read_properties
    from kafkalike.security.zookeeper import zookeeper_security

    properties = read_properties(Path(tls_config_file)) if tls_config_file else {}
    return zookeeper_security(ZookeeperKeys(**ZookeeperKeys.parse(properties)), os.environ)


async def change_configs(
    zk: "KafkaZkClient",
    entity_type: str,
    sanitized_name: str,
    added: Mapping[str, str],
    deleted: Iterable[str] = (),
) -> None:
    """Change the configs of an entity and tell the brokers so."""
    configs = await zk.get_entity_configs(entity_type, sanitized_name) | dict(added)
    for key in deleted:
        configs.pop(key, None)
    await zk.set_or_create_entity_configs(entity_type, sanitized_name, configs)
    await zk.create_config_change_notification(f"{entity_type}/{sanitized_name}")
