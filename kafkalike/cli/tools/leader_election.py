"""`kafka-leader-election`: elect preferred or unclean leaders (`LeaderElectionCommand`)."""

from typing import TYPE_CHECKING, Any, Final

from kafkalike.cli.tools.support.checks import count
from kafkalike.cli.tools.support.client import client_settings, with_admin
from kafkalike.cli.tools.support.options import Option, Parsed, integer, switch
from kafkalike.cli.tools.support.partition_file import (
    AdminCommandFailedError,
    AdminOperationError,
    duplicates,
    parse_json,
    partition_of,
    read_text,
)
from kafkalike.cli.tools.support.tool import Tool, print_line
from kafkalike.model.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kafkalike.client.admin.admin_client import Admin

_TYPES: Final = {"PREFERRED": "PREFERRED", "UNCLEAN": "UNCLEAN"}
_TIMEOUT_MS: Final = 30_000
_WHICH: Final = ("topic", "all-topic-partitions", "path-to-json-file")


def _election_type(text: str) -> str:
    return _TYPES[text.upper()]


OPTIONS: Final = (
    Option("bootstrap-server", "The brokers to begin with. REQUIRED.", "host:port"),
    Option("admin.config", "A properties file with settings of the client.", "config file"),
    Option(
        "path-to-json-file",
        'The partitions: {"partitions": [{"topic": "foo", "partition": 1}]}',
        "Path to JSON file",
    ),
    Option("topic", "The topic of the one partition that is meant.", "topic name"),
    Option(
        "partition",
        "The one partition that is meant, with --topic.",
        "partition id",
        kind=integer,
        kind_name="Integer",
    ),
    switch("all-topic-partitions", "Elect the leaders of all partitions."),
    Option(
        "election-type",
        "preferred: the first of the replicas. unclean: any replica that is alive, if none is in"
        " sync; it may have lost records. REQUIRED.",
        "election type",
        kind=_election_type,
        kind_name="[PREFERRED,UNCLEAN]",
    ),
)


def check_arguments(parsed: Parsed) -> None:
    """Refuse options that do not fit together."""
    needed = [name for name in ("election-type", "bootstrap-server") if not parsed.has(name)]
    if needed:
        raise AdminCommandFailedError(f"Missing required option(s): {', '.join(needed)}")
    if count(parsed, _WHICH) != 1:
        raise AdminCommandFailedError(
            f"One and only one of the following options is required: {', '.join(_WHICH)}"
        )
    if parsed.has("topic") and not parsed.has("partition"):
        raise AdminCommandFailedError("Missing required option(s): partition")
    if parsed.has("partition") and not parsed.has("topic"):
        raise AdminCommandFailedError("Option partition is only allowed if topic is used")


def parse_partitions(text: str, what: str = "Replica election data") -> list[TopicPartition]:
    """Read the file with partitions."""
    found = parse_json(text, f"{what} is empty")
    if not isinstance(found, dict) or "partitions" not in found:
        raise AdminOperationError(f'{what} is missing "partitions" field')
    partitions = [partition_of(entry) for entry in found["partitions"]]
    twice = duplicates(partitions)
    if twice:
        raise AdminOperationError(f"{what} contains duplicate partitions: {twice}")
    return partitions


def run(parsed: Parsed) -> None:
    """Elect, and tell the outcome for each partition."""
    check_arguments(parsed)
    partitions = None
    if parsed.has("path-to-json-file"):
        partitions = parse_partitions(read_text(parsed.value("path-to-json-file")))
    elif parsed.has("topic"):
        partitions = [TopicPartition(parsed.value("topic"), parsed.value("partition"))]
    settings = client_settings(parsed, config="admin.config") | {
        "default.api.timeout.ms": _TIMEOUT_MS,
        "request.timeout.ms": _TIMEOUT_MS // 2,
    }
    kind = parsed.value("election-type")
    results = with_admin(settings, lambda admin: elect(admin, kind, partitions))
    tell(results, f"leader election ({kind})", "Valid", "replica(s)")


async def elect(admin: "Admin", kind: str, partitions: list[TopicPartition] | None) -> Any:
    """Elect leaders; says what the trouble is if there is no answer."""
    from kafkalike.protocol.errors import ClusterAuthorizationError, RequestTimedOutError

    try:
        return await admin.elect_leaders(kind, partitions, raise_errors=False)
    except RequestTimedOutError:
        message = "Timeout waiting for election results"
    except ClusterAuthorizationError:
        message = "Not authorized to perform leader election"
    print_line(message)
    raise AdminCommandFailedError(message)


def tell(results: Any, what: str, already: str, replicas: str) -> None:
    """Print the outcome; raises if leaders could not be elected."""
    from kafkalike.cli.tools.support.java_names import java_text
    from kafkalike.protocol.errors import ErrorCode

    done = [str(tp) for tp, error in results.items() if error is None]
    bad = {
        tp: error
        for tp, error in results.items()
        if error is not None and error.code != ErrorCode.ELECTION_NOT_NEEDED
    }
    if done:
        print_line(f"Successfully completed {what} for partitions {', '.join(done)}")
    if len(done) + len(bad) < len(results):
        # Kafka lists here those that were elected, not those that needed no election.
        print_line(f"{already} replica already elected for partitions {', '.join(done)}")
    for tp, error in bad.items():
        print_line(f"Error completing {what} for partition: {tp}: {java_text(error)}")
    if bad:
        raise AdminCommandFailedError(f"{len(bad)} {replicas} could not be elected")


main: Final = Tool(
    "kafka-leader-election",
    "This tool attempts to elect a new leader for a set of topic partitions. The type of elections"
    " supported are preferred replicas and unclean replicas.",
    OPTIONS,
    run,
)
