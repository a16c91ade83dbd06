"""`zookeeper-security-migration`: lock the znodes of a cluster, or open them again.

Secure: only who is logged in as the brokers are may change them (and see what is sensitive); run it
with the brokers' JAAS file. Unsecure: anybody may do anything, as before.
"""

import os
import sys
from typing import Final

from kafkalike.cli.tools.support.checks import check_required
from kafkalike.cli.tools.support.errors import IllegalArgumentError
from kafkalike.cli.tools.support.options import Option, Parsed, integer, switch
from kafkalike.cli.tools.support.tool import Tool, print_line
from kafkalike.cli.tools.support.zookeeper import with_bridge

_SECURE, _UNSECURE = "secure", "unsecure"
_MS: Final = "milliseconds"

OPTIONS: Final = (
    Option(
        "zookeeper.acl",
        "Whether to make the znodes `secure` or `unsecure`.",
        "secure/unsecure",
    ),
    Option(
        "zookeeper.connect",
        "The ensemble, with the chroot of the cluster.",
        "connection string",
        default="localhost:2181",
    ),
    Option(
        "zookeeper.session.timeout",
        "Has no effect: the session of this tool is short.",
        _MS,
        integer,
        "Integer",
        default=30_000,
    ),
    Option(
        "zookeeper.connection.timeout",
        "Has no effect: 30 seconds are waited.",
        _MS,
        integer,
        "Integer",
        default=30_000,
    ),
    switch("enable.path.check", "Change nothing if a znode that Kafka always has is missing."),
    Option(
        "zk-tls-config-file",
        "A properties file with zookeeper.ssl.*.",
        "ZooKeeper TLS configuration",
    ),
)


def run(parsed: Parsed) -> int:
    """Change the access lists of all znodes that are Kafka's."""
    from kafkalike.security.zookeeper import OPTIONS_VARIABLE, login_from

    check_required(parsed, "zookeeper.acl")
    wanted = parsed.value("zookeeper.acl")
    if wanted not in (_SECURE, _UNSECURE):
        raise IllegalArgumentError(f"zookeeper.acl must be {_SECURE} or {_UNSECURE}: {wanted}")
    tls_config_file = parsed.value("zk-tls-config-file")
    if wanted == _SECURE and login_from(os.environ) is None and tls_config_file is None:
        print_line(
            "Cannot secure znodes: no login for ZooKeeper was found. Name a JAAS file with a "
            f"section Client: export {OPTIONS_VARIABLE}=-Djava.security.auth.login.config=FILE"
        )
        return 1
    from kafkalike.cli.tools.znode_locks import set_acls

    count = with_bridge(
        parsed.value("zookeeper.connect"),
        lambda bridge: set_acls(
            bridge, is_secure=wanted == _SECURE, checks_paths=parsed.has("enable.path.check")
        ),
        tls_config_file,
    )
    print_line(f"{count} znodes are {wanted}")
    return 0


main: Final = Tool(
    "zookeeper-security-migration",
    "ZooKeeper Migration Tool Help. This tool updates the ACLs of znodes as part of the process of "
    "setting up ZooKeeper authentication.",
    OPTIONS,
    run,
)

if __name__ == "__main__":
    sys.exit(main())
