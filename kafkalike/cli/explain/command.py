"""`kafkalike explain`: what is the matter with a topic or a group, and why, in words."""

from typing import Final

from kafkalike.cli.lazy_group import LazyCommand, LazyGroup

_COMMANDS: Final = {
    "topic": LazyCommand(
        "kafkalike.cli.explain.topic",
        "topic",
        "Who leads its partitions, what is not in sync, whether acks=all is refused.",
    ),
    "group": LazyCommand(
        "kafkalike.cli.explain.consumer_group",
        "group",
        "Who reads what, how far behind it is, why it rebalances.",
    ),
}

explain = LazyGroup(
    "explain",
    commands_by_name=_COMMANDS,
    help="Say in words what is the matter with a topic or a group, and what to do about it.",
)
