"""Access lists of all znodes of a cluster, changed one by one (Kafka's `ZkSecurityMigrator`)."""

from typing import Final

from kafkalike.cli.tools.support.errors import ToolFailure
from kafkalike.zk.bridge import ZkBridge
from kafkalike.zk.errors import NoNodeError
from kafkalike.zk.znodes import PERSISTENT_ZK_PATHS, default_acls

_ROOTS: Final = (
    "/admin",
    "/brokers",
    "/cluster",
    "/config",
    "/consumers",
    "/controller",
    "/controller_epoch",
    "/delegation_token",
    "/feature",
    "/isr_change_notification",
    "/kafka-acl",
    "/kafka-acl-changes",
    "/kafka-acl-extended",
    "/kafka-acl-extended-changes",
    "/latest_producer_id_block",
    "/log_dir_event_notification",
)


async def set_acls(bridge: ZkBridge, *, is_secure: bool, checks_paths: bool) -> int:
    """Change them all, and return how many; what vanishes meanwhile is passed over."""
    if checks_paths:
        for path in PERSISTENT_ZK_PATHS:
            if await bridge.exists(path) is None:
                raise ToolFailure(f"Path {path} does not exist. Something is wrong")
    await bridge.set_acl("/", default_acls(is_secure, "/"))
    return 1 + sum([await _set_below(bridge, root, is_secure=is_secure) for root in _ROOTS])


async def _set_below(bridge: ZkBridge, path: str, *, is_secure: bool) -> int:
    try:
        await bridge.set_acl(path, default_acls(is_secure, path))
        children = await bridge.get_children(path)
    except NoNodeError:
        return 0
    below = [await _set_below(bridge, f"{path}/{name}", is_secure=is_secure) for name in children]
    return 1 + sum(below)
