"""Topic names: what is legal, what collides, what is internal."""

import re

GROUP_METADATA_TOPIC = "__consumer_offsets"
TRANSACTION_STATE_TOPIC = "__transaction_state"
INTERNAL_TOPICS = frozenset((GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC))

MAX_NAME_LENGTH = 249  # a directory `name-99999` plus a delete suffix must fit into 255 bytes
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def why_invalid(topic: str) -> str | None:
    """Say what is wrong with a topic's name in Kafka's words, or None."""
    if not topic:
        return "Topic name is illegal, it can't be empty"
    if topic in (".", ".."):
        return 'Topic name cannot be "." or ".."'
    if len(topic) > MAX_NAME_LENGTH:
        return (
            f"Topic name is illegal, it can't be longer than {MAX_NAME_LENGTH} characters, "
            f"topic name: {topic}"
        )
    if not _LEGAL.fullmatch(topic):
        return (
            f'Topic name "{topic}" is illegal, it contains a character other than ASCII '
            "alphanumerics, '.', '_' and '-'"
        )
    return None


def has_collision_chars(topic: str) -> bool:
    """Whether a metric name made of this topic could be taken by another topic."""
    return "_" in topic or "." in topic


def has_collision(topic: str, other: str) -> bool:
    """Whether both names fall together once dots become underscores, as in metric names."""
    return topic.replace(".", "_") == other.replace(".", "_")


def is_internal(topic: str) -> bool:
    """Whether Kafka itself keeps its state in this topic."""
    return topic in INTERNAL_TOPICS
