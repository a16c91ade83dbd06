"""`kafkalike wire`: the bytes of the protocol, readable, and the way back."""

from typing import Final

from kafkalike.cli.lazy_group import LazyCommand, LazyGroup

_COMMANDS: Final = {
    "decode": LazyCommand("kafkalike.cli.wire.decode", "decode", "Turn hex into JSON."),
    "encode": LazyCommand("kafkalike.cli.wire.encode", "encode", "Turn JSON into hex."),
    "tap": LazyCommand(
        "kafkalike.cli.wire.tap", "tap", "Stand between clients and brokers and show the traffic."
    ),
    "messages": LazyCommand(
        "kafkalike.cli.wire.messages", "messages", "List the messages and their versions."
    ),
}

wire = LazyGroup(
    "wire",
    commands_by_name=_COMMANDS,
    help="Read and write the bytes that clients and brokers exchange.",
)
