"""Which process a connection comes from, by what Linux tells in /proc."""

from pathlib import Path
from typing import Final

_SOCKET: Final = "socket:["
_LOCAL_ADDRESS, _INODE = 1, 9  # columns of /proc/net/tcp


def ports_of(pid: int) -> set[int]:
    """Return the local TCP ports of a process's connections; none if it is gone."""
    inodes = set()
    try:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            target = _target(descriptor)
            if target.startswith(_SOCKET):
                inodes.add(target[len(_SOCKET) : -1])
    except OSError:
        return set()
    return parse_ports(Path("/proc/net/tcp").read_text(), inodes)


def parse_ports(table: str, inodes: set[str]) -> set[int]:
    """Find the local ports of sockets, known by their inodes, in the text of /proc/net/tcp."""
    rows = (line.split() for line in table.splitlines()[1:])
    return {int(row[_LOCAL_ADDRESS].split(":")[1], 16) for row in rows if row[_INODE] in inodes}


def _target(descriptor: Path) -> str:
    try:
        return str(descriptor.readlink())
    except OSError:  # closed a moment ago
        return ""
