"""`zookeeper-server-start [-daemon] zookeeper.properties`: a ZooKeeper server, as configured."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kafkalike.cli.tools.support.script import answer
from kafkalike.cli.tools.support.server_process import start_in_background
from kafkalike.cli.tools.support.tool import print_error

_USAGE: Final = "USAGE: zookeeper-server-start [-daemon] zookeeper.properties"
_DAEMON: Final = ("-daemon", "--daemon")

# What tells these servers from those of an ensemble that `kafkalike` manages.
MARK: Final = "-Dkafkalike.tool=zookeeper-server-start"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the server, in the foreground or (`-daemon`) not; its log is then logs/zookeeper.out."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if (code := answer(given, _USAGE, _DAEMON)) is not None:
        return code
    is_daemon = given[:1] in ([option] for option in _DAEMON)
    rest = given[1:] if is_daemon else given
    if not rest:
        print_error(_USAGE)
        return 1
    if not Path(rest[0]).is_file():
        print_error(f"cannot read {rest[0]}: there is no such file")
        return 1
    return _start(Path(rest[0]).absolute(), is_daemon=is_daemon)


def _start(config_file: Path, *, is_daemon: bool) -> int:
    from kafkalike.zk.embedded.errors import EmbeddedZooKeeperError

    try:
        command = _command(config_file)
    except EmbeddedZooKeeperError as error:
        print_error(str(error))
        return 1
    if not is_daemon:
        os.execv(command[0], command)  # from here on this process is the server
    start_in_background(command, "zookeeper.out")
    return 0


def _command(config_file: Path) -> list[str]:
    from kafkalike.zk.embedded.java_command import LOG4J2_PROPERTIES, JavaCommand

    logging = Path(os.environ.get("LOG_DIR") or "logs").absolute() / "zookeeper-log4j2.properties"
    logging.parent.mkdir(parents=True, exist_ok=True)
    logging.write_text(LOG4J2_PROPERTIES)
    java, *words = JavaCommand().for_server(config_file, logging)
    return [java, MARK, *words]


if __name__ == "__main__":
    sys.exit(main())
