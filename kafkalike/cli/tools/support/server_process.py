"""Servers as processes: started in the background, found again, and asked to end."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

_PROC: Final = Path("/proc")


class Process(NamedTuple):
    """A process of this user, with the words of its command."""

    pid: int
    command: tuple[str, ...]

    def names(self, path: str) -> bool:
        """Whether the command names this file."""
        wanted = Path(path).absolute()
        return any(Path(word).absolute() == wanted for word in self.command[1:])


def own_processes(proc: Path = _PROC) -> Iterator[Process]:
    """Yield the processes of this user, without this one."""
    for entry in proc.iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if entry.stat().st_uid == os.getuid():
                words = (entry / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
                yield Process(int(entry.name), tuple(map(os.fsdecode, words)))
        except OSError:
            continue  # it has ended meanwhile


def stop_servers(
    processes: Iterable[Process],
    is_server: Callable[[Process], bool],
    config_file: str | None,
    kill: Callable[[int, int], None] = os.kill,
) -> list[int]:
    """Ask servers to end: all of this user's, or the one with this configuration."""
    stopped = []
    for process in processes:
        if is_server(process) and (config_file is None or process.names(config_file)):
            try:
                kill(process.pid, signal.SIGTERM)
            except ProcessLookupError:
                continue
            stopped.append(process.pid)
    return stopped


def start_in_background(command: list[str], log_name: str) -> Path:
    """Start a command that outlives this one; returns where its output goes."""
    directory = Path(os.environ.get("LOG_DIR") or "logs")
    directory.mkdir(parents=True, exist_ok=True)
    log_file = directory / log_name
    with log_file.open("ab") as output:
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return log_file
