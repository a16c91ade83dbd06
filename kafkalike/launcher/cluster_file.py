"""`cluster.json`: what runs where, for people and programs; and the lock of a cluster's folder."""

import contextlib
import fcntl
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from kafkalike.launcher.errors import ClusterError

CLUSTER_FILE: Final = "cluster.json"
_LOCK_FILE: Final = ".lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One process of the cluster; `pid` is None when it does not run."""

    id: int
    port: int
    pid: int | None
    log_dirs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRecord:
    """The whole file. Pids are those of the moment when it was written."""

    bootstrap_servers: str
    zookeeper_connect: str
    brokers: tuple[Member, ...]
    zookeepers: tuple[Member, ...]


def write_record(directory: Path, record: ClusterRecord) -> None:
    """Write cluster.json as a whole: who reads it never sees half of it."""
    temporary = directory / f"{CLUSTER_FILE}.tmp"
    temporary.write_text(json.dumps(asdict(record), indent=2) + "\n")
    temporary.replace(directory / CLUSTER_FILE)


def read_record(directory: Path) -> ClusterRecord | None:
    """Read cluster.json; None if there is none."""
    path = directory / CLUSTER_FILE
    try:
        values = json.loads(path.read_text())
        return ClusterRecord(
            bootstrap_servers=values["bootstrap_servers"],
            zookeeper_connect=values["zookeeper_connect"],
            brokers=_members(values["brokers"]),
            zookeepers=_members(values["zookeepers"]),
        )
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise ClusterError(
            f"{path} is damaged ({error!r}): remove the folder, or mend it"
        ) from None


def _members(values: list[dict[str, Any]]) -> tuple[Member, ...]:
    return tuple(
        Member(id=v["id"], port=v["port"], pid=v["pid"], log_dirs=tuple(v["log_dirs"]))
        for v in values
    )


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Keep other commands from changing the cluster meanwhile; they wait for us."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / _LOCK_FILE).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
