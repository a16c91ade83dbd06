"""Carrying a plan out: throttle, begin, watch until every partition has arrived, clean up."""

import contextlib
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeVar

from kafkalike.launcher.cluster_admin import BROKER, TOPIC, ClusterAdmin
from kafkalike.launcher.cluster_view import ClusterView, PartitionView
from kafkalike.launcher.errors import ClusterError
from kafkalike.launcher.reassignment_plan import Replicas
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import KafkaError

_POLL_S: Final = 0.1
_PATIENCE_S: Final = 30.0  # for a controller that is being replaced

_SIDES: Final = ("leader", "follower")

Plan = Mapping[TopicPartition, Replicas]
T = TypeVar("T")


def move(
    admin: ClusterAdmin,
    plan: Plan,
    on_progress: Callable[[int], None],
    throttle_bytes_per_s: int | None,
) -> None:
    """Move partitions as planned and wait until all are there.

    `on_progress` hears how many more have arrived. Interrupted, the moves go on by themselves: the
    controller has them in ZooKeeper; only the throttle is taken back.
    """
    if not plan:
        return
    view = admin.view()
    with _throttled(admin, view, plan, throttle_bytes_per_s):
        admin.reassign(plan)
        _wait(admin, plan, on_progress)
    _wait_until_known(admin, plan, _is_moved, "was moved, but the brokers do not know it")
    _patiently(lambda: admin.elect_preferred(plan))
    _wait_until_known(admin, plan, _is_led_as_preferred, "is not led by its first replica")


def _wait(admin: ClusterAdmin, plan: Plan, on_progress: Callable[[int], None]) -> None:
    left = set(plan)
    while left:
        time.sleep(_POLL_S)
        moving = _patiently(admin.moving)
        arrived = left - moving.keys()
        left -= arrived
        on_progress(len(arrived))
        if left:
            _check_targets({tp: moving[tp] for tp in left}, _patiently(admin.view))


def _wait_until_known(
    admin: ClusterAdmin, plan: Plan, is_done: Callable[[PartitionView, Replicas], bool], what: str
) -> None:
    """Wait until the brokers show what the controller decided: who looks next relies on it."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        found = _patiently(admin.view).partitions
        waiting = [tp for tp in plan if tp in found and not is_done(found[tp], plan[tp])]
        if not waiting:
            return
        if time.monotonic() >= deadline:
            raise ClusterError(f"{waiting[0]} {what} after {_PATIENCE_S:g} s")
        time.sleep(_POLL_S)


def _is_moved(partition: PartitionView, replicas: Replicas) -> bool:
    return partition.replicas == replicas


def _is_led_as_preferred(partition: PartitionView, replicas: Replicas) -> bool:
    return partition.leader == replicas[0]


def _check_targets(moving: Plan, view: ClusterView) -> None:
    """Do not wait for a broker that is gone."""
    for tp, adding in moving.items():
        for broker in adding:
            if broker not in view.brokers:
                raise ClusterError(
                    f"{tp} waits for broker {broker}, which is gone: start it, and the move goes on"
                )


def _patiently(ask: Callable[[], T]) -> T:
    """Ask again while the controller changes or a connection breaks."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return ask()
        except (KafkaError, ClusterError, OSError, EOFError):
            if time.monotonic() >= deadline:
                raise
            time.sleep(_POLL_S)


@contextlib.contextmanager
def _throttled(
    admin: ClusterAdmin, view: ClusterView, plan: Plan, bytes_per_s: int | None
) -> Iterator[None]:
    """Limit the moves (KIP-73) while they last; other replication goes on at full speed."""
    if not bytes_per_s:
        yield
        return
    rates: dict[str, str | None] = {
        f"{side}.replication.throttled.rate": str(bytes_per_s) for side in _SIDES
    }
    replicas = throttled_replicas(plan, {tp: view.partitions[tp].replicas for tp in plan})
    try:
        _alter(admin, view, rates, replicas)
        yield
    finally:
        none: dict[str, dict[str, str | None]] = {
            topic: dict.fromkeys(configs) for topic, configs in replicas.items()
        }
        _alter(admin, _patiently(admin.view), dict.fromkeys(rates), none)


def throttled_replicas(plan: Plan, current: Plan) -> dict[str, dict[str, str | None]]:
    """Name the replicas to throttle, by topic: those that may send, and those that are new."""
    sides: dict[str, dict[str, list[str]]] = defaultdict(lambda: {side: [] for side in _SIDES})
    for tp, new in plan.items():
        old = current[tp]
        sides[tp.topic]["leader"] += [f"{tp.partition}:{broker}" for broker in old]
        sides[tp.topic]["follower"] += [
            f"{tp.partition}:{broker}" for broker in new if broker not in old
        ]
    return {
        topic: {
            f"{side}.replication.throttled.replicas": ",".join(names)
            for side, names in of_topic.items()
        }
        for topic, of_topic in sides.items()
    }


def _alter(
    admin: ClusterAdmin,
    view: ClusterView,
    rates: Mapping[str, str | None],
    replicas: Mapping[str, Mapping[str, str | None]],
) -> None:
    for broker in view.brokers.values():
        admin.alter_config(broker, BROKER, str(broker.id), rates)
    for topic, configs in replicas.items():
        admin.alter_config(view.controller, TOPIC, topic, configs)
