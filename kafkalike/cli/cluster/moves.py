"""`kafkalike cluster decommission` and `rebalance`: replicas move while traffic goes on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

from kafkalike.cli.cluster.screen import count, directory_option, errors_as_sentences, progress
from kafkalike.launcher.broker_properties import HOST
from kafkalike.launcher.cluster_admin import ClusterAdmin
from kafkalike.launcher.cluster_view import ClusterView, view_from_any
from kafkalike.launcher.errors import ClusterError
from kafkalike.launcher.local_cluster import LocalCluster, changing
from kafkalike.launcher.moves import move
from kafkalike.launcher.reassignment_plan import (
    Replicas,
    check_enough_brokers,
    plan_balance,
    plan_departure,
)
from kafkalike.launcher.starting import stop_brokers
from kafkalike.model.topic_partition import TopicPartition

_THROTTLE: Final = 50_000_000
_ROUNDS: Final = 10  # topics may be made while others move

_throttle_option = click.option(
    "--throttle",
    type=click.IntRange(min=0),
    default=_THROTTLE,
    show_default=True,
    metavar="BYTES",
    help="So many bytes per second and broker may the moves take; 0 is without limit.",
)


@click.command()
@click.argument("broker_ids", metavar="ID…", type=int, nargs=-1, required=True)
@directory_option
@_throttle_option
def decommission(broker_ids: tuple[int, ...], directory: Path, throttle: int) -> None:
    """Move leaders and replicas away from brokers, then stop and forget them.

    No record is lost and no client sees an error. Refused if the brokers that stay are too few for
    the replication factor of some topic.
    """
    with errors_as_sentences(), changing(directory) as cluster:
        leaving = [cluster.broker(broker_id) for broker_id in sorted(set(broker_ids))]
        admin = ClusterAdmin(lambda: _view(cluster))
        _drain(admin, {broker.broker_id for broker in leaving}, throttle)
        with progress(f"stopping {count(len(leaving), 'broker')}", len(leaving)) as advance:
            stop_brokers(leaving, lambda _: advance(1))
        for broker in leaving:
            cluster.remove_broker(broker.broker_id)
        names = ", ".join(str(broker.broker_id) for broker in leaving)
        click.echo(f"gone: {names}; bootstrap.servers={cluster.bootstrap_servers}")


@click.command()
@directory_option
@_throttle_option
def rebalance(directory: Path, throttle: int) -> None:
    """Spread the replicas and leaders of all topics evenly, with as few moves as that takes."""
    with errors_as_sentences(), changing(directory) as cluster:
        admin = ClusterAdmin(lambda: _view(cluster))
        view = admin.view()
        _check_nothing_moves(admin)
        plan = plan_balance(_assignment(view), _racks(view))
        if plan:
            _move(admin, plan, throttle)
        view = admin.view()
        for broker in sorted(view.brokers):
            leads, holds = view.led_by(broker), view.replicas_on(broker)
            click.echo(f"broker {broker:<4} leads {leads:<5} holds {holds}")


def _drain(admin: ClusterAdmin, leaving: set[int], throttle: int) -> None:
    _check_nothing_moves(admin)
    for _ in range(_ROUNDS):
        view = admin.view()
        staying = {broker: rack for broker, rack in _racks(view).items() if broker not in leaving}
        assignment = _assignment(view)
        check_enough_brokers(assignment, leaving, len(staying))
        if not staying:
            raise ClusterError("no broker would stay: stop the cluster with cluster down instead")
        plan = plan_departure(assignment, leaving, staying)
        if not plan:
            return
        _move(admin, plan, throttle)
    raise ClusterError("new topics keep coming to the brokers that shall leave: try again later")


def _move(admin: ClusterAdmin, plan: Mapping[TopicPartition, Replicas], throttle: int) -> None:
    with progress(f"moving {count(len(plan), 'partition')}", len(plan)) as advance:
        move(admin, plan, advance, throttle or None)


def _check_nothing_moves(admin: ClusterAdmin) -> None:
    moving = admin.moving()
    if moving:
        raise ClusterError(
            f"{count(len(moving), 'partition')} ({min(moving)}, …) are being moved already: wait"
            " until that is done"
        )


def _view(cluster: LocalCluster) -> ClusterView:
    running = [broker for broker in cluster.brokers.values() if broker.is_running]
    return view_from_any((HOST, broker.port) for broker in running)


def _assignment(view: ClusterView) -> dict[TopicPartition, Replicas]:
    return {tp: partition.replicas for tp, partition in view.partitions.items()}


def _racks(view: ClusterView) -> dict[int, str | None]:
    return {broker.id: broker.rack for broker in view.brokers.values()}
