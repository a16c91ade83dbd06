"""Znode paths and connect strings: small text work that needs no ZooKeeper."""

from typing import NamedTuple


class ConnectString(NamedTuple):
    """`zookeeper.connect` taken apart: `host:port,host:port/chroot`."""

    hosts: str
    chroot: str

    @classmethod
    def parse(cls, text: str) -> "ConnectString":
        """Take a connect string apart; a chroot of `/` is none."""
        hosts, slash, chroot = text.strip().partition("/")
        if not hosts:
            raise ValueError(f"zookeeper.connect {text!r} names no host")
        chroot = (slash + chroot).rstrip("/")
        if "//" in chroot:
            raise ValueError(f"zookeeper.connect {text!r} has an empty part in its chroot")
        return cls(hosts, chroot)


def parent_path(path: str) -> str:
    """Give the path of the parent; of a top-level znode the empty string."""
    parent, slash, _ = path.rpartition("/")
    if not slash:
        raise ValueError(f"{path!r} is not a znode path")
    return parent


def with_chroot(chroot: str, path: str) -> str:
    """Give the absolute path of a path below the chroot."""
    if path == "/":
        return chroot or "/"
    return chroot + path


def without_chroot(chroot: str, path: str) -> str:
    """Give the path below the chroot of an absolute path."""
    if not path.startswith(chroot):
        raise ValueError(f"{path!r} is not below the chroot {chroot!r}")
    return path[len(chroot) :] or "/"
