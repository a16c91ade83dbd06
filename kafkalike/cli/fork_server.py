"""Many brokers at the price of one: a process that imports all of a broker once and then forks.

Most of a broker's start is importing, and most of an idle broker's memory is what was imported:
forked brokers do the first once and share the second. The launcher writes a line of JSON for each
broker to standard input (`{"home": …, "start": 1, "arguments": […]}`), and reads here how it ended
(`{"home": …, "start": 1, "exit_code": …}`). The end of the input is the end of this process;
brokers live on.
"""

import gc
import importlib
import json
import os
import select
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

LOG_FILE: Final = "broker.log"

# The commands import these when they run, to be quick when they do not.
_NEEDED_LATER: Final = (
    "kafkalike.cli.broker_process",
    "kafkalike.cli.supervised",
    "kafkalike.config.broker_config",
    "kafkalike.server.broker_loggers",
    "kafkalike.server.kafka_server",
)
_LOOK_S: Final = 0.02
_READ_BYTES: Final = 65_536


def main() -> None:
    """Serve until the launcher has gone."""
    run = load_broker()
    # What was made by now is never looked at again by the collector, or it would be copied.
    gc.collect()
    gc.freeze()
    started: dict[int, dict[str, Any]] = {}
    pending = b""
    is_open = True
    while is_open:
        readable, _, _ = select.select([sys.stdin], [], [], _LOOK_S)
        if readable:
            data = os.read(sys.stdin.fileno(), _READ_BYTES)
            is_open = bool(data)
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                wanted = json.loads(line)
                started[_fork(wanted["home"], wanted["arguments"], run)] = wanted
        _tell_who_ended(started)


def load_broker() -> Callable[[Sequence[str]], Any]:
    """Import all that a broker needs, but for the reactor, which opens files of its own."""
    from kafkalike.cli.broker import broker
    from kafkalike.server.api.registry import load_apis

    for name in _NEEDED_LATER:
        importlib.import_module(name)
    load_apis()
    return broker.main


def _fork(home: str, arguments: Sequence[str], run: Callable[[Sequence[str]], Any]) -> int:
    pid = os.fork()
    if pid == 0:
        _become_broker(Path(home), arguments, run)
    return pid


def _become_broker(
    home: Path, arguments: Sequence[str], run: Callable[[Sequence[str]], Any]
) -> NoReturn:
    """Leave everything behind that is the launcher's: session, folder, pipes."""
    os.setsid()
    os.chdir(home)
    _open_as(0, os.devnull, os.O_RDONLY)
    _open_as(1, LOG_FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(1, 2)
    Path("/proc/self/comm").write_text(home.name)  # what `ps` and `top` show
    raise SystemExit(run(arguments))  # never back into the loop of the parent


def _open_as(descriptor: int, path: str, flags: int) -> None:
    opened = os.open(path, flags, 0o644)
    os.dup2(opened, descriptor)
    os.close(opened)


def _tell_who_ended(started: dict[int, dict[str, Any]]) -> None:
    while started:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        wanted = started.pop(pid)
        exit_code = os.waitstatus_to_exitcode(status)
        ended = {"home": wanted["home"], "start": wanted["start"], "exit_code": exit_code}
        print(json.dumps(ended), flush=True)


if __name__ == "__main__":
    main()
