"""`kafkalike cluster`: a table of what can be done with a cluster on this machine."""

from typing import Final

from kafkalike.cli.lazy_group import LazyCommand, LazyGroup

_COMMANDS: Final = {
    "up": LazyCommand(
        "kafkalike.cli.cluster.up", "up", "Start a cluster, or what of it does not run."
    ),
    "status": LazyCommand(
        "kafkalike.cli.cluster.status", "status", "Show brokers, leaders, replicas."
    ),
    "kill": LazyCommand(
        "kafkalike.cli.cluster.members", "kill", "Send a broker a signal: kill -9, pause."
    ),
    "start": LazyCommand(
        "kafkalike.cli.cluster.members", "start", "Start brokers that do not run."
    ),
    "add": LazyCommand(
        "kafkalike.cli.cluster.members", "add", "Let new brokers join the running cluster."
    ),
    "decommission": LazyCommand(
        "kafkalike.cli.cluster.moves",
        "decommission",
        "Move all data away from brokers, then remove them.",
    ),
    "rebalance": LazyCommand(
        "kafkalike.cli.cluster.moves",
        "rebalance",
        "Spread replicas and leaders evenly over the brokers.",
    ),
    "down": LazyCommand(
        "kafkalike.cli.cluster.down", "down", "Stop the cluster; --wipe removes its data."
    ),
}

cluster = LazyGroup(
    "cluster",
    commands_by_name=_COMMANDS,
    help="Start, change and stop a whole cluster on this machine.",
)
