"""`meta.properties` in each log directory: to which cluster and broker the data belongs."""

from collections.abc import Iterable
from email.utils import formatdate
from pathlib import Path
from typing import NamedTuple

from kafkalike.log.checkpoint import write_atomically
from kafkalike.log.errors import InconsistentBrokerMetadataError

META_PROPERTIES_FILE = "meta.properties"
_VERSION = 0


class BrokerMetadata(NamedTuple):
    """Who owns a log directory; either may be unknown in files of older versions."""

    cluster_id: str | None
    broker_id: int | None


def write_broker_metadata(directory: Path, metadata: BrokerMetadata, now_ms: int) -> None:
    """Write the file as Java's Properties do, the time of writing in a comment."""
    week_day, day, month, year, time, _ = formatdate(now_ms / 1000).replace(",", "").split()
    written = f"{week_day} {month} {day} {time} UTC {year}"
    lines = ["#", f"#{written}"]
    if metadata.broker_id is not None:
        lines.append(f"broker.id={metadata.broker_id}")
    lines.append(f"version={_VERSION}")
    if metadata.cluster_id is not None:
        lines.append(f"cluster.id={metadata.cluster_id}")
    write_atomically(directory / META_PROPERTIES_FILE, "\n".join([*lines, ""]))


def read_broker_metadata(directory: Path) -> BrokerMetadata | None:
    """Return what the file says, None if there is none; malformed content raises `OSError`."""
    path = directory / META_PROPERTIES_FILE
    path.with_name(path.name + ".tmp").unlink(missing_ok=True)
    try:
        text = path.read_text(encoding="latin-1")
    except FileNotFoundError:
        return None
    properties = {}
    for line in map(str.strip, text.splitlines()):
        if line and line[0] not in "#!":
            key, _, value = line.partition("=")
            properties[key.strip()] = value.strip().replace("\\", "")
    try:
        version = int(properties.get("version", _VERSION))
        broker_id = int(properties["broker.id"]) if "broker.id" in properties else None
    except ValueError as problem:
        raise OSError(f"Malformed {path}: {problem}") from problem
    if version != _VERSION:
        raise OSError(f"Unrecognized version of {path}: {version}")
    return BrokerMetadata(properties.get("cluster.id"), broker_id)


def read_all_broker_metadata(
    directories: Iterable[Path],
) -> tuple[BrokerMetadata, list[Path]]:
    """Return what all directories agree on, and the directories that cannot be read.

    Directories that disagree raise `InconsistentBrokerMetadataError`.
    """
    found: dict[Path, BrokerMetadata] = {}
    offline = []
    for directory in directories:
        try:
            metadata = read_broker_metadata(directory)
        except OSError:
            offline.append(directory)
            continue
        if metadata is not None:
            found[directory] = metadata
    if len(set(found.values())) > 1:
        raise InconsistentBrokerMetadataError(
            "BrokerMetadata is not consistent across log.dirs. This could happen if multiple "
            "brokers shared a log directory (log.dirs) or partial data was manually copied from "
            "another broker. Found:\n"
            + "\n".join(f"- {directory} -> {metadata}" for directory, metadata in found.items())
        )
    return next(iter(found.values()), BrokerMetadata(None, None)), offline
