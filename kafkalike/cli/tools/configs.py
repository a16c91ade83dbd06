"""`kafka-configs`: describe and alter the configs of topics, brokers, users, clients, addresses."""

from typing import Final

from kafkalike.cli.tools.config_entity import (
    BROKER_LOGGERS,
    BROKERS,
    CLIENTS,
    IPS,
    USERS,
    Entities,
)
from kafkalike.cli.tools.support.checks import check_excluded, count
from kafkalike.cli.tools.support.client import BOOTSTRAP_SERVER, COMMAND_CONFIG
from kafkalike.cli.tools.support.errors import (
    IllegalArgumentError,
    JavaError,
    ToolFailure,
    UsageError,
)
from kafkalike.cli.tools.support.listing import OUTPUT
from kafkalike.cli.tools.support.options import Option, Parsed, switch
from kafkalike.cli.tools.support.tool import Tool, print_line

OPTIONS: Final = (
    Option("zookeeper", "DEPRECATED. The ZooKeeper servers, instead of brokers.", "urls"),
    BOOTSTRAP_SERVER,
    COMMAND_CONFIG,
    switch("alter", "Change configs."),
    switch("describe", "Show configs."),
    switch("all", "Show also what is not set for this topic or broker itself."),
    Option("entity-type", "topics, clients, users, brokers, broker-loggers or ips.", ""),
    Option("entity-name", "Name of the topic, client id, user, broker id or address.", ""),
    switch("entity-default", "The default of clients, users, brokers or ips."),
    Option(
        "add-config",
        "What to set: 'k1=v1,k2=[v1,v2],k3=v3'; brackets hold values with commas together.",
        "",
    ),
    Option("add-config-file", "A properties file with what to set.", ""),
    Option("delete-config", "The names of what to remove: 'k1,k2'.", "", separator=","),
    switch("force", "Has no effect."),
    Option("topic", "A topic.", ""),
    Option("client", "A client id.", ""),
    switch("client-defaults", "The default of clients."),
    Option("user", "A user.", ""),
    switch("user-defaults", "The default of users."),
    Option("broker", "A broker id.", ""),
    switch("broker-defaults", "The default of brokers."),
    Option("broker-logger", "The id of the broker whose loggers are meant.", ""),
    switch("ip-defaults", "The default of addresses."),
    Option("ip", "An address.", ""),
    Option(
        "zk-tls-config-file",
        "A properties file with zookeeper.ssl.*, for --zookeeper.",
        "ZooKeeper TLS configuration",
    ),
    OUTPUT,
)


def check_arguments(parsed: Parsed) -> Entities:
    """Refuse options that do not fit together; return whose configs are meant."""
    if count(parsed, ["alter", "describe"]) != 1:
        raise UsageError("Command must include exactly one action: --describe, --alter")
    check_excluded(parsed, "describe", ["add-config", "delete-config"])
    entities = Entities.of(parsed)
    entities.check_types("--bootstrap-server" if parsed.has("bootstrap-server") else "--zookeeper")
    _check_connection(parsed)
    entities.check_names()
    if parsed.has("describe") and BROKER_LOGGERS in entities.types and not entities.has_name:
        raise IllegalArgumentError(
            f"an entity name must be specified with --describe of {','.join(entities.types)}"
        )
    if parsed.has("alter"):
        _check_alter(parsed, entities)
    return entities


def _check_connection(parsed: Parsed) -> None:
    chosen = count(parsed, ["bootstrap-server", "zookeeper"])
    if chosen == 0:
        raise IllegalArgumentError(
            "One of the required --bootstrap-server or --zookeeper arguments must be specified"
        )
    if chosen == 2:
        raise IllegalArgumentError(
            "Only one of --bootstrap-server or --zookeeper must be specified"
        )
    if parsed.has("all") and parsed.has("zookeeper"):
        raise IllegalArgumentError("--bootstrap-server must be specified for --all")


def _check_alter(parsed: Parsed, entities: Entities) -> None:
    types = entities.types
    if {USERS, CLIENTS, BROKERS, IPS} & set(types):
        if not entities.has_name and not entities.has_default:
            raise IllegalArgumentError(
                "an entity-name or default entity must be specified with --alter of users, "
                "clients, brokers or ips"
            )
    elif not entities.has_name:
        raise IllegalArgumentError(
            f"an entity name must be specified with --alter of {','.join(types)}"
        )
    if count(parsed, ["add-config", "add-config-file"]) == 2:
        raise IllegalArgumentError(
            "Only one of --add-config or --add-config-file must be specified"
        )
    if not count(parsed, ["add-config", "add-config-file", "delete-config"]):
        raise IllegalArgumentError(
            "At least one of --add-config, --add-config-file, or --delete-config must be "
            "specified with --alter"
        )


def run(parsed: Parsed) -> int:
    """Do what the options say; what the user got wrong is a line without a Java class."""
    try:
        entities = check_arguments(parsed)
    except IllegalArgumentError as error:
        raise ToolFailure(str(error)) from error
    # Inside, because the client takes longer to load than help takes to print.
    from kafkalike.cli.tools.config_service import run_through_brokers
    from kafkalike.cli.tools.support.java_names import java_text
    from kafkalike.protocol.errors import InvalidConfigurationError, KafkaError

    try:
        if parsed.has("zookeeper"):
            from kafkalike.cli.tools.config_zookeeper_service import run_through_zookeeper

            print_line(
                "Warning: --zookeeper is deprecated and will be removed in a future version of"
                " Kafka."
            )
            print_line("Use --bootstrap-server instead to specify a broker to connect to.")
            run_through_zookeeper(parsed, entities)
        else:
            run_through_brokers(parsed, entities)
    except (KafkaError, JavaError) as error:
        is_own = isinstance(error, InvalidConfigurationError) and not error.is_answer
        if is_own or isinstance(error, IllegalArgumentError):
            raise ToolFailure(str(error)) from error
        arguments = " ".join(parsed.arguments)
        wrapper = "java.util.concurrent.ExecutionException: " * isinstance(error, KafkaError)
        raise ToolFailure(
            f"Error while executing config command with args '{arguments}'\n"
            f"{wrapper}{java_text(error)}"
        ) from error
    return 0


main: Final = Tool(
    "kafka-configs",
    "This tool helps to manipulate and describe entity config for a topic, client, user, broker "
    "or ip",
    OPTIONS,
    run,
)
