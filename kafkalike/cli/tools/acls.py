"""`kafka-acls`: list, add and remove permissions (Kafka's `AclCommand`)."""

from typing import Final

from kafkalike.cli.tools.support.checks import check_excluded, check_required, count
from kafkalike.cli.tools.support.errors import UsageError
from kafkalike.cli.tools.support.listing import OUTPUT
from kafkalike.cli.tools.support.options import Option, Parsed, switch
from kafkalike.cli.tools.support.tool import Tool

_PATTERNS: Final = {name: name for name in ("ANY", "MATCH", "LITERAL", "PREFIXED")}
_WHO: Final = ("allow-host", "allow-principal", "deny-host", "deny-principal")


def _pattern_type(text: str) -> str:
    return _PATTERNS[text.upper()]


OPTIONS: Final = (
    Option("bootstrap-server", "The brokers to begin with.", "server to connect to"),
    Option(
        "command-config",
        "A properties file with settings of the client.",
        "command-config",
        value_is_optional=True,
    ),
    Option("authorizer", "The class of the authorizer, instead of brokers.", "authorizer"),
    Option(
        "authorizer-properties",
        "DEPRECATED, with --authorizer: zookeeper.connect=localhost:2181",
        "authorizer-properties",
    ),
    Option("topic", "A topic, or * for all.", "topic"),
    switch("cluster", "The cluster itself."),
    Option("group", "A consumer group, or * for all.", "group"),
    Option("transactional-id", "A transactional id, or * for all.", "transactional-id"),
    switch("idempotent", "With --producer: let it be idempotent."),
    Option("delegation-token", "A delegation token, or * for all.", "delegation-token"),
    Option(
        "resource-pattern-type",
        "literal: the name as it is; prefixed: names that begin so. To list or remove also any:"
        " either of them; match: all ACLs that have a say about that name (take care).",
        "",
        kind=_pattern_type,
        kind_name="ANY|MATCH|LITERAL|PREFIXED",
        default="LITERAL",
    ),
    switch("add", "Add ACLs."),
    switch("remove", "Remove ACLs."),
    switch("list", "List ACLs, of all resources or of those that are named."),
    Option(
        "operation",
        "What is allowed or denied: Describe, DescribeConfigs, Alter, AlterConfigs, Read, Write,"
        " Create, Delete, ClusterAction, IdempotentWrite, All.",
        "",
        default="All",
    ),
    Option("allow-principal", "Who may: User:alice, or User:* for all.", "allow-principal"),
    Option(
        "deny-principal",
        "Who may not, even if another ACL allows it: User:mallory.",
        "deny-principal",
    ),
    Option(
        "principal",
        "List only the ACLs of these: User:alice.",
        "principal",
        value_is_optional=True,
    ),
    Option("allow-host", "From where those may who are allowed; * by default.", "allow-host"),
    Option("deny-host", "From where those may not who are denied; * by default.", "deny-host"),
    switch("producer", "What a producer needs: Write, Describe, Create on the topic."),
    switch("consumer", "What a consumer needs: Read, Describe on the topic, Read on the group."),
    switch("force", "Do not ask."),
    Option(
        "zk-tls-config-file",
        "A properties file with zookeeper.ssl.*, for --authorizer-properties.",
        "Authorizer ZooKeeper TLS configuration",
    ),
    OUTPUT,
)


def check_arguments(parsed: Parsed) -> None:
    """Refuse options that do not fit together."""
    has = parsed.has
    if has("bootstrap-server") and has("authorizer"):
        raise UsageError("Only one of --bootstrap-server or --authorizer must be specified")
    if not has("bootstrap-server"):
        check_required(parsed, "authorizer-properties")
    if has("command-config") and not has("bootstrap-server"):
        raise UsageError(
            "The --command-config option can only be used with --bootstrap-server option"
        )
    if has("authorizer-properties") and has("bootstrap-server"):
        raise UsageError(
            "The --authorizer-properties option can only be used with --authorizer option"
        )
    if count(parsed, ["add", "remove", "list"]) != 1:
        raise UsageError("Command must include exactly one action: --list, --add, --remove. ")
    check_excluded(parsed, "list", ["producer", "consumer", *_WHO])
    for role in ("producer", "consumer"):
        check_excluded(parsed, role, ["operation", "deny-principal", "deny-host"])
    _check_roles(parsed)


def _check_roles(parsed: Parsed) -> None:
    has = parsed.has
    if has("principal") and not has("list"):
        raise UsageError("The --principal option is only available if --list is set")
    if has("producer") and not has("topic"):
        raise UsageError("With --producer you must specify a --topic")
    if has("idempotent") and not has("producer"):
        raise UsageError("The --idempotent option is only available if --producer is set")
    is_strange = not has("producer") and (has("cluster") or has("transactional-id"))
    if has("consumer") and (not has("topic") or not has("group") or is_strange):
        raise UsageError(
            "With --consumer you must specify a --topic and a --group and no --cluster or "
            "--transactional-id option should be specified."
        )


def run(parsed: Parsed) -> int:
    """Do what the options say."""
    check_arguments(parsed)
    # Inside, because the client takes longer to load than help takes to print.
    from kafkalike.cli.tools.acl_service import run_action

    return run_action(parsed)


main: Final = Tool("kafka-acls", "This tool helps to manage acls on kafka.", OPTIONS, run)
