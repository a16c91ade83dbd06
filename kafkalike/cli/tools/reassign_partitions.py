"""`kafka-reassign-partitions`: move partitions to other brokers or directories."""

from typing import Final

from kafkalike.cli.tools.support.checks import check_required, count
from kafkalike.cli.tools.support.errors import JavaError, UsageError
from kafkalike.cli.tools.support.listing import OUTPUT
from kafkalike.cli.tools.support.options import Option, Parsed, long, switch
from kafkalike.cli.tools.support.tool import Tool

_ACTIONS: Final = ("generate", "execute", "verify", "cancel", "list")
_FILE: Final = "reassignment-json-file"
_NEEDED: Final = {
    "verify": (_FILE,),
    "generate": ("topics-to-move-json-file", "broker-list"),
    "execute": (_FILE,),
    "cancel": (_FILE,),
    "list": (),
}
_BROKERS: Final = ("bootstrap-server", "command-config")
_PERMITTED: Final = {
    "verify": (*_BROKERS, "preserve-throttles", "zookeeper", "wait"),
    "generate": (*_BROKERS, "disable-rack-aware", "zookeeper"),
    "execute": (
        *_BROKERS,
        "additional",
        "throttle",
        "replica-alter-log-dirs-throttle",
        "timeout",
        "zookeeper",
    ),
    "cancel": (*_BROKERS, "preserve-throttles", "timeout"),
    "list": (*_BROKERS, "output"),
}
_ONLY_BROKERS: Final = (
    "additional",
    "cancel",
    "command-config",
    "replica-alter-log-dirs-throttle",
    "list",
    "timeout",
    "wait",
)

OPTIONS: Final = (
    switch("verify", "Show how far a reassignment has come; when it is done, lift its throttles."),
    switch("generate", "Propose a reassignment; nothing is moved."),
    switch("execute", "Start a reassignment."),
    switch("cancel", "Cancel a reassignment that is under way."),
    switch("list", "List the reassignments that are under way."),
    Option(
        "bootstrap-server",
        "REQUIRED: The brokers to begin with.",
        "Server(s) to use for bootstrapping",
    ),
    Option(
        "command-config",
        "A properties file with settings of the client.",
        "Admin client property file",
    ),
    Option("zookeeper", "DEPRECATED: The ZooKeeper servers, instead of brokers.", "urls"),
    Option(
        _FILE,
        'Where partitions shall be: {"partitions": [{"topic": "foo", "partition": 1, "replicas":'
        ' [1,2,3], "log_dirs": ["any", "/data/a", "any"]}], "version": 1}. log_dirs may be left'
        " out.",
        "manual assignment json file path",
    ),
    Option(
        "topics-to-move-json-file",
        'With --generate: {"topics": [{"topic": "foo"}], "version": 1}',
        "topics to reassign json file path",
    ),
    Option("broker-list", "With --generate: the brokers to spread over, 0,1,2.", "brokerlist"),
    switch("disable-rack-aware", "Propose without a look at racks."),
    Option(
        "throttle",
        "How many bytes per second may be copied between brokers. With --additional it can be"
        " changed later.",
        "throttle",
        kind=long,
        kind_name="Long",
        default=-1,
    ),
    Option(
        "replica-alter-log-dirs-throttle",
        "How many bytes per second may be copied between the directories of a broker.",
        "replicaAlterLogDirsThrottle",
        kind=long,
        kind_name="Long",
        default=-1,
    ),
    Option(
        "timeout",
        "How many ms to wait for moves between directories to begin.",
        "timeout",
        kind=long,
        kind_name="Long",
        default=10_000,
    ),
    switch("additional", "Start a reassignment though others are under way."),
    switch("preserve-throttles", "Leave the throttles as they are."),
    switch("wait", "With --verify: wait until nothing is under way, with a progress bar."),
    OUTPUT,
)


def check_arguments(parsed: Parsed) -> str:
    """Refuse options that do not fit together; return the action."""
    if count(parsed, _ACTIONS) != 1:
        actions = ", ".join(f"--{action}" for action in _ACTIONS)
        raise UsageError(f"Command must include exactly one action: {actions}")
    action = next(action for action in _ACTIONS if parsed.has(action))
    if not count(parsed, ["zookeeper", "bootstrap-server"]):
        raise UsageError("Please specify --bootstrap-server")
    check_required(parsed, *_NEEDED[action])
    for name in parsed.given:
        if name not in (action, *_NEEDED[action], *_PERMITTED[action]):
            raise UsageError(f'Option "[{name}]" can\'t be used with action "[{action}]"')
    if not parsed.has("bootstrap-server"):
        for name in _ONLY_BROKERS:
            if parsed.has(name):
                raise JavaError(
                    "java.lang.RuntimeException",
                    f'You must specify --bootstrap-server when using "[{name}]"',
                )
    return action


def run(parsed: Parsed) -> int:
    """Do what the options say."""
    action = check_arguments(parsed)
    # Inside, because the client takes longer to load than help takes to print.
    from kafkalike.cli.tools.reassignment_service import run_action

    return run_action(parsed, action)


main: Final = Tool(
    "kafka-reassign-partitions",
    "This tool helps to move topic partitions between replicas.",
    OPTIONS,
    run,
)
