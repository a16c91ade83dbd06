"""`kafka-preferred-replica-election`: the older tool for preferred leaders, still in 2.8."""

from typing import TYPE_CHECKING, Final

from kafkalike.cli.tools.leader_election import elect, parse_partitions, tell
from kafkalike.cli.tools.support.client import client_settings, with_admin
from kafkalike.cli.tools.support.errors import UsageError
from kafkalike.cli.tools.support.options import Option, Parsed
from kafkalike.cli.tools.support.partition_file import AdminCommandFailedError, read_text
from kafkalike.cli.tools.support.tool import Tool, print_line
from kafkalike.cli.tools.support.zookeeper import with_zookeeper
from kafkalike.model.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kafkalike.zk.client.kafka_zk_client import KafkaZkClient

_TIMEOUT_MS: Final = 30_000

OPTIONS: Final = (
    Option(
        "path-to-json-file",
        'The partitions, all by default: {"partitions": [{"topic": "foo", "partition": 1}]}',
        "list of partitions for which preferred replica leader election needs to be triggered",
    ),
    Option("zookeeper", "DEPRECATED. The ZooKeeper servers, instead of brokers.", "urls"),
    Option("bootstrap-server", "The brokers to begin with.", "host:port"),
    Option("admin.config", "A properties file with settings of the client.", "config file"),
)


def run(parsed: Parsed) -> None:
    """Elect the preferred leaders."""
    if parsed.has("bootstrap-server") == parsed.has("zookeeper"):
        raise UsageError("Exactly one of '[bootstrap-server]' or '[zookeeper]' must be provided")
    partitions = None
    if parsed.has("path-to-json-file"):
        text = read_text(parsed.value("path-to-json-file"))
        partitions = parse_partitions(text, "Preferred replica election data")
    if parsed.has("zookeeper"):
        print_line(
            "Warning: --zookeeper is deprecated and will be removed in a future version of Kafka."
        )
        print_line("Use --bootstrap-server instead to specify a broker to connect to.")
        with_zookeeper(parsed.value("zookeeper"), lambda zk: _elect_through_znode(zk, partitions))
        return
    settings = client_settings(parsed, config="admin.config") | {
        "request.timeout.ms": _TIMEOUT_MS,
        "default.api.timeout.ms": 2 * _TIMEOUT_MS,
    }
    results = with_admin(settings, lambda admin: elect(admin, "PREFERRED", partitions))
    tell(results, "preferred leader election", "Preferred", "preferred replica(s)")


async def _elect_through_znode(zk: "KafkaZkClient", wanted: list[TopicPartition] | None) -> None:
    from kafkalike.zk.errors import NodeExistsError

    existing = await zk.get_all_partitions()
    partitions = sorted(existing) if wanted is None else [tp for tp in wanted if tp in existing]
    try:
        await zk.create_preferred_replica_election(partitions)
    except NodeExistsError:
        raise AdminCommandFailedError("Admin command failed") from None
    names = [str(tp) for tp in partitions]
    print_line(f"Created preferred replica election path with {','.join(names)}")
    kind = "HashSet" if len(names) > 4 else "Set"  # the names of Scala's sets
    print_line(
        f"Successfully started preferred replica election for partitions {kind}({', '.join(names)})"
    )
    for tp in wanted or ():
        if tp not in existing:
            print_line(
                f"Skipping preferred replica leader election for partition {tp} since it doesn't"
                " exist."
            )


main: Final = Tool(
    "kafka-preferred-replica-election",
    "This tool helps to causes leadership for each partition to be transferred back to the"
    " 'preferred replica', it can be used to balance leadership among the servers.",
    OPTIONS,
    run,
    preamble="This tool is deprecated. Please use kafka-leader-election tool. Tracking issue:"
    " KAFKA-8405",
)
