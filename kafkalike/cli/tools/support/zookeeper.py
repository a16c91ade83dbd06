"""`--zookeeper`: work that a tool does on the znodes themselves, as Kafka 2.8 still allows."""

import contextlib
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kafkalike.cli.tools.support.errors import JavaError, ToolFailure

if TYPE_CHECKING:
    from kafkalike.zk.bridge import ZkBridge
    from kafkalike.zk.client.kafka_zk_client import KafkaZkClient

    RunWork = Callable[[Callable[[ZkBridge], Coroutine[Any, Any, Any]]], Any]

T = TypeVar("T")

_TIMEOUT_MS: Final = 30_000


def with_zookeeper(connect: str, work: "Callable[[KafkaZkClient], Coroutine[Any, Any, T]]") -> T:
    """Run a coroutine with Kafka's view of ZooKeeper, and return its result."""
    from kafkalike.zk.client.kafka_zk_client import KafkaZkClient

    return with_bridge(connect, lambda bridge: work(KafkaZkClient(bridge)))


def with_bridge(connect: str, work: "Callable[[ZkBridge], Coroutine[Any, Any, T]]") -> T:
    """Run a coroutine with a ZooKeeper session that lives as long, and return its result."""
    with zookeeper_session(connect) as run:
        return run(work)  # type: ignore[no-any-return]  # what the coroutine returned


@contextlib.contextmanager
def zookeeper_session(connect: str) -> "Iterator[RunWork]":
    """Open a session; yields what runs coroutines with it."""
    from kafkalike.client.threads import reactor_thread
    from kafkalike.zk.bridge import ZkBridge
    from kafkalike.zk.errors import ZkError, ZkTimeoutError

    thread = reactor_thread()

    async def make() -> ZkBridge:
        return ZkBridge(thread.reactor, connect, session_timeout_ms=_TIMEOUT_MS)

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
