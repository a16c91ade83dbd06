"""The umbrella command `kafkalike`: a table of what there is."""

from typing import Final

import click

from kafkalike.cli.lazy_group import LazyCommand, LazyGroup

_COMMANDS: Final = {
    "broker": LazyCommand("kafkalike.cli.broker", "broker", "Run a broker in the foreground."),
    "cluster": LazyCommand(
        "kafkalike.cli.cluster.group",
        "cluster",
        "Start, change and stop a whole cluster on this machine.",
    ),
    "completion": LazyCommand(
        "kafkalike.cli.completion", "completion", "Let bash, zsh or fish complete commands."
    ),
    "explain": LazyCommand(
        "kafkalike.cli.explain.command",
        "explain",
        "Say in words what is the matter with a topic or a group.",
    ),
    "generate": LazyCommand(
        "spark_pipeline.cli.generate", "generate", "Write events for the Spark jobs."
    ),
    "spark": LazyCommand(
        "spark_pipeline.cli.spark", "spark", "Submit PySpark jobs; a Spark cluster here."
    ),
    "wire": LazyCommand(
        "kafkalike.cli.wire.group", "wire", "Turn the bytes of the protocol into JSON, and back."
    ),
    "zookeeper": LazyCommand(
        "kafkalike.cli.zookeeper", "zookeeper", "Start, watch and stop a ZooKeeper ensemble."
    ),
}

main = LazyGroup(
    "kafkalike",
    commands_by_name=_COMMANDS,
    help="Classic, ZooKeeper-coordinated Apache Kafka 2.8 in Python.",
)
click.version_option(package_name="kafkalike", message="%(prog)s %(version)s")(main)

if __name__ == "__main__":
    main(prog_name="kafkalike")
