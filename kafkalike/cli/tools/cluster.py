"""`kafka-cluster`: the id of a cluster (Kafka's `ClusterTool`)."""

from typing import TYPE_CHECKING, Any, Final

from kafkalike.cli.tools.support.client import read_settings, with_admin
from kafkalike.cli.tools.support.errors import ToolFailure, UsageError
from kafkalike.cli.tools.support.listing import OUTPUT, show
from kafkalike.cli.tools.support.options import Option, Parsed, integer
from kafkalike.cli.tools.support.tool import Tool, print_line

if TYPE_CHECKING:
    from kafkalike.client.admin.admin_client import Admin

_COMMANDS: Final = ("cluster-id", "unregister")

OPTIONS: Final = (
    Option("bootstrap-server", "The brokers to begin with.", "host:port", aliases=("b",)),
    Option("config", "A properties file with settings of the client.", "file", aliases=("c",)),
    Option(
        "id",
        "With unregister: the broker.",
        "broker id",
        kind=integer,
        kind_name="Integer",
        aliases=("i",),
    ),
    OUTPUT,
)


def run(parsed: Parsed) -> None:
    """Run `cluster-id` or `unregister`."""
    if len(parsed.rest) != 1 or parsed.rest[0] not in _COMMANDS:
        raise UsageError("usage: kafka-cluster {cluster-id,unregister} --bootstrap-server …")
    settings: dict[str, Any] = {}
    if parsed.has("config"):
        from pathlib import Path

        settings |= read_settings(Path(parsed.value("config")))
    if parsed.has("bootstrap-server"):
        settings["bootstrap.servers"] = parsed.value("bootstrap-server")
    if "bootstrap.servers" not in settings:
        raise ToolFailure("Please specify --bootstrap-server.")
    if parsed.rest[0] == "unregister":
        # Only brokers without ZooKeeper have this API, and Kafka's tool says so of others.
        print_line("The target cluster does not support the broker unregistration API.")
        return
    cluster_id = with_admin(settings, _cluster_id)
    show(parsed, [{"cluster_id": cluster_id}], lambda: [f"Cluster ID: {cluster_id}"])


async def _cluster_id(admin: "Admin") -> str:
    return str((await admin.describe_cluster())["cluster_id"])


main: Final = Tool("kafka-cluster", "The Kafka cluster tool.", OPTIONS, run)
