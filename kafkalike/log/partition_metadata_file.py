"""`partition.metadata`: the topic id of a partition's directory (KIP-516)."""

from pathlib import Path

from kafkalike.log.checkpoint import write_atomically
from kafkalike.model.uuid import ZERO_UUID, uuid_from_string, uuid_to_string

PARTITION_METADATA_FILE = "partition.metadata"
_VERSION = 0


def write_partition_metadata(directory: Path, topic_id: bytes) -> None:
    """Write the topic id; if the machine crashes now, the controller tells it again."""
    text = f"version: {_VERSION}\ntopic_id: {uuid_to_string(topic_id)}"
    write_atomically(directory / PARTITION_METADATA_FILE, text, is_synced=False)


def read_partition_metadata(directory: Path) -> bytes | None:
    """Return the topic id, None if there is no file or an empty one (see above).

    Malformed content raises `OSError`.
    """
    path = directory / PARTITION_METADATA_FILE
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None
    if not lines:
        return None
    try:
        fields = dict(line.split(": ", 1) for line in lines)
        version, topic_id = int(fields["version"]), uuid_from_string(fields["topic_id"])
    except (KeyError, ValueError) as problem:
        raise OSError(f"Malformed partition metadata file ({path}): {problem!r}") from problem
    if version != _VERSION:
        raise OSError(f"Unrecognized version of partition metadata file ({path}): {version}")
    if topic_id == ZERO_UUID:
        raise OSError(f"Invalid topic ID in partition metadata file ({path})")
    return topic_id


def delete_partition_metadata(directory: Path) -> None:
    """Forget the topic id, as brokers of an older protocol version would not keep it right."""
    (directory / PARTITION_METADATA_FILE).unlink(missing_ok=True)
